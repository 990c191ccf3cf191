"""What the page '04 · More on model parallelism' says, asserted: a block behind each cell that shows it."""

# after dilation-picture
plan = ours.halo_plan(9, kernel, world_size=3)
assert [(src, dst, *rows) for src, dst, rows in plan if dst == 1] == [(0, 1, 1, 3), (2, 1, 6, 8)]
assert kernel.reach == 5 and kernel.output_height(9) == 9

# after larger-halo
larger = ours.halo_plan(8, ours.RowKernel(size=7, padding=3), world_size=8)
assert [src for src, dst, _ in larger if dst == 3] == [0, 1, 2, 4, 5, 6]

# after halo-equal
assert all(equal) and len(equal) == 2 + world_size

# after halo-network-table
least = {row[:2]: splits[row[2:].index(min(row[2:]))] for row in rows}
assert least.pop((4, "conv5_1")) == "output channels" and set(least.values()) == {"examples"}
conv5_1 = ours.VGG16[10]
assert conv5_1.name == "conv5_1" and 4 * conv5_1.output_elements < conv5_1.parameters

# after hybrid-shapes
assert plan == ("data", "data", "model", "model")

# after hybrid-run
network = small_network()
optimizer, plain = torch.optim.Adam(network.parameters(), lr=2e-3), []
for _ in range(15):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(network(images), labels)
    loss.backward()
    optimizer.step()
    plain.append(loss.item())
assert max(abs(a - b) for a, b in zip(plain, losses)) < 1e-3 and max(abs(a - b) for a, b in zip(plain, alone)) < 1e-3
assert losses[-1] < 0.7 * losses[0] and held < 1.1 * whole / world_size

# after blocks
assert torch.equal(A00 @ B01 + A01 @ B11, (A @ B)[:2, 2:])
assert torch.equal(A10 @ B00 + A11 @ B10, (A @ B)[2:, :2])

# after summa-grids
square, tall = ({grid: row[which] for grid, row in rows.items()} for which in (0, 1))
for m, k, n in (*shapes.values(), (8192, 1024, 1024), (1024, 1024, 65_536), (1024, 65_536, 1024)):
    grids = [tuple(map(int, name.split(" × "))) for name in rows]
    received = {grid: max(ours.summa_elements_received(m, k, n, *grid)) for grid in grids}
    edges = {(height, width): m / height + n / width for height, width in grids}  # of a block of C
    assert min(received, key=received.get) == min(edges, key=edges.get)
assert min(square, key=square.get) == "8 × 8"
assert min(tall, key=tall.get) == "64 × 1" and 7 < tall["8 × 8"] / tall["64 × 1"] < 7.5

# after summa-run
assert torch.equal(C, A @ B)

# after made-in-parts-run
with torch.device("meta"):
    of_gpt3 = nn.Linear(12_288, 4 * 12_288)
assert of_gpt3.weight.is_meta and of_gpt3.weight.numel() == 603_979_776
assert -(-175e9 * 16 // 80e9) == 35
assert list(rows.values()) == [(12, "yes"), (3, "no"), (12, "yes")]
seeds = list(range(12)) * 2, range(24)  # of two layers' rows: the same, and other ones in each
assert [len(torch.stack([drawn(12, each) for each in both]).unique(dim=0)) for both in seeds] == [12, 24]

# after cannon-turns
for step in range(side):  # at no step is a block in two places
    assert len({row[1 + step].split(" · ")[0] for row in turns}) == side * side
    assert len({row[1 + step].split(" · ")[1] for row in turns}) == side * side

# after cannon-run
assert exact and sent == formula

# after bound-table
assert rows[196][0] == 0 < rows[256][0]
assert 22 < rows[16_384][1] / rows[16_384][0] < 23
assert abs(rows[1024][1] / rows[4096][1] - 2) < 0.01  # four times the ranks: half of it

# after layers-run
assert exact

# after layers-counted
assert all(four == round(4 * (2 * n**2 / (4 * p) ** 0.5 + 9 * n**2 / p)) for p, (*_, four, _) in rows.items())
assert [round(share, 2) for *_, share in rows.values()] == [1.06, 0.78, 0.64]
counts = {c: max(ours.layered_elements_sent(n, n, n, 4096, c)) for c in (1, 4, 16)}
assert counts[4] < counts[16] < counts[1]

# after production-compare
assert torch.equal(torch.cat([y for y, _ in columns], 1), x @ W.T + b)
assert all(torch.allclose(y, x @ W.T + b, atol=1e-4) for y, _ in rows)
