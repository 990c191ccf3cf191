"""What the page '04 · Model parallelism' says, asserted: a block behind each cell that shows it."""

# after stakes
assert list(devices.values()) == [9, 35]

# after by-hand
assert torch.equal(torch.cat(by_outputs, dim=1), y)
assert torch.equal(sum(by_inputs), y)

# after split-equal
assert equal
addends = zip(x.tensor_split(world_size, 1), W.tensor_split(world_size, 1), strict=True)
assert torch.equal(sum(x_part @ columns.T + b for x_part, columns in addends), x @ W.T + world_size * b)

# after made-in-parts-run
assert list(rows.values()) == [(144, 12, "yes"), (36, 3, "no"), (36, 12, "yes")]
with torch.device("meta"):
    of_gpt3 = torch.nn.Linear(12_288, 4 * 12_288)
assert of_gpt3.weight.is_meta and of_gpt3.weight.numel() == 603_979_776
seeds = list(range(12)) * 2, range(24)  # of two layers' rows: the same, and other ones in each
assert [len(torch.stack([drawn(12, each) for each in both]).unique(dim=0)) for both in seeds] == [12, 24]

# after traffic-counted
assert counted == computed
assert counted["reduce-scatter"] <= 0.6 * counted["all-reduce"]

# after traffic-table
assert 15.9 < rows["by examples"][2] / rows["by outputs"][2] < 16.1
assert rows["by outputs"][2] == rows["by inputs"][2]

# after border
assert border == 4097
for i, o in ((1000, 10), (3072, 12_288), (9216, 4096)):
    assert abs(ours.border_batch("outputs", inputs=i, outputs=o, alike=True) / (2 * i * o / (i + o)) - 1) < 0.002

# after update-curves
once, reduced, twice = (curve for _, curve in speed_up.values())
assert once[0] == 1 and twice[0] == 0.75 and max(once) < max(twice) < max(reduced)
assert all(one >= two for one, two in zip(reduced, twice, strict=True)) and twice[2] < once[2] and twice[3] > once[3]
counts = range(1, 101)
took = {way: [ours.training_seconds(way, layer, p, machine) for p in counts] for way in ours.WAYS}
assert [counts[seconds.index(min(seconds))] for seconds in took.values()] == [6, 17, 20]
assert all(two >= one for one, two in zip(took["once, sums reduced"], took["twice"], strict=True))
assert [took["twice"][p] < took["once, sums gathered"][p] for p in range(100)] == [p >= 4 for p in range(100)]
no_latency = Network(latency_s=0, bytes_per_s=5e6)
took = {way: [ours.training_seconds(way, layer, p, no_latency) for p in counts] for way in ours.WAYS}
assert [counts[seconds.index(min(seconds))] for seconds in took.values()] == [6, 100, 100]

# after strassen-count
assert torch.equal(ours.strassen_product(A, B, levels=2), A @ B)  # whole numbers: exact
saved = {
    n: [ours.strassen_operations(n, k).total / ours.classical_operations(n).total for k in (1, 2)]
    for n in range(4, 65, 4)
}
assert all((one < 1) == (n >= 16) and (two < one) == (n >= 32) for n, (one, two) in saved.items())

# after cannon-turns
for step in range(side):  # at no step is a block in two places
    assert len({pairs[step].split(" · ")[0] for pairs in turns.values()}) == side * side
    assert len({pairs[step].split(" · ")[1] for pairs in turns.values()}) == side * side

# after cannon-run
assert exact
assert sent == formula

# after summa-grids
square, tall = ({grid: row[which] for grid, row in rows.items()} for which in (0, 1))
for m, k, n in (*shapes.values(), (8192, 1024, 1024), (1024, 1024, 65_536), (1024, 65_536, 1024)):
    received = {grid: max(ours.summa_elements_received(m, k, n, *grid)) for grid in grids}
    edges = {(height, width): m / height + n / width for height, width in grids}  # of a block of C
    assert min(received, key=received.get) == min(edges, key=edges.get)
assert min(square, key=square.get) == "8 × 8" and square["1 × 64"] / square["8 × 8"] == 4.5
assert min(tall, key=tall.get) == "64 × 1" and 7 < tall["8 × 8"] / tall["64 × 1"] < 7.5

# after bound-table
assert rows[196][0] == 0 < rows[256][0]
assert 36 < rows[1024][1] / rows[1024][0] < 37 and 22 < rows[16384][1] / rows[16384][0] < 23
assert abs(rows[1024][1] / rows[4096][1] - 2) < 0.01  # four times the ranks: half of it

# after layers-run
assert exact

# after layers-counted
assert all(four == formula for *_, four, formula, _ in rows.values())
assert all(max(simulate(in_layers, p, args=(whole, whole, 1)).trace.bytes_sent) == rows[p][1] for p in (64, 256))
assert [round(share, 2) for *_, share in rows.values()] == [1.06, 0.78, 0.64]
sent = {c: max(ours.layered_elements_sent(n, n, n, 4096, c)) for c in (1, 4, 16)}
assert sent[4] < sent[16] < sent[1]
assert all(most == 2 * n**2 / (c * 4096) ** 0.5 + 3 * (c - 1) * n**2 / 4096 for c, most in sent.items())

# after channels
assert round(factor) == 87
assert 2600 < traffic["by output channels"] / traffic["by examples"] < 2900

# after halo-stride
assert [(src, dst, *rows) for src, dst, rows in plan] == [(0, 1, 3, 4)]
larger = ours.halo_plan(8, ours.RowKernel(size=7, padding=3), world_size=8)
assert [src for src, dst, _ in larger if dst == 3] == [0, 1, 2, 4, 5, 6]

# after halo-equal
assert all(equal)

# after halo-network-table
best = {place: splits[sent.index(min(sent))] for place, sent in rows.items()}
assert best.pop((4, "conv5_1")) == "output channels" and set(best.values()) == {"examples"}
assert all(examples < regions for examples, regions, _ in rows.values())

# after conv-memory
assert conv + linear == 138_357_544  # as torchvision counts; the paper says 138 million

# after hybrid-plan
assert plan.choices == ("data",) * 5 + ("model",) * 3
assert all_data > 2.9 * plan.sent_bytes and all_model > 20 * plan.sent_bytes
assert ours.choose_splits(ours.ALEXNET, batch=3072, world_size=8).choices == plan.choices
assert set(ours.choose_splits(ours.ALEXNET, batch=4096, world_size=8).choices) == {"data"}

# after hybrid-batches
from itertools import product

assert rows[8][0].startswith("conv3")
assert {rows[batch][0] for batch in (128, 1024, 3000)} == {"fc6, fc7, fc8"} and rows[4096][0] == "none"
borders = [
    ours.border_batch("outputs", inputs=i, outputs=o, alike=True) for i, o in ((9216, 4096), (4096, 4096), (4096, 1000))
]
assert [round(border) for border in borders] == [5672, 4097, 1608]
for p in (2, 3, 8, 64):
    before, after = (ours.choose_splits(ours.ALEXNET, batch=batch, world_size=p).choices for batch in (3274, 3275))
    assert before == ours.choose_splits(ours.ALEXNET, batch=11, world_size=p).choices
    assert before == ("data",) * 5 + ("model",) * 3 and set(after) == {"data"}
    assert ours.choose_splits(ours.ALEXNET, batch=10, world_size=p).choices[2:5] == ("model",) * 3
for batch, (_, best) in rows.items():  # of all 2**8 plans
    plans = product(("data", "model"), repeat=8)
    assert best == min(ours.plan_bytes(ours.ALEXNET, each, batch=batch, world_size=8) for each in plans)

# after hybrid-run
assert max(abs(a - b) for a, b in zip(alone, losses, strict=True)) < 1e-3 and losses[-1] < 0.7 * losses[0]
assert all(share == losses for share in shares)
assert max(held) < 1.1 * whole / world_size

# after production-compare
assert torch.equal(torch.cat([y for y, _ in columns], 1), x @ W.T + b)
assert all(torch.allclose(y, x @ W.T + b, atol=1e-4) for y, _ in rows)
