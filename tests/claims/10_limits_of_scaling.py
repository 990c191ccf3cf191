"""What the page '10 · Limits of scaling' says, asserted: a block behind each cell that shows it."""

# after stake
assert all(2.78 < point.speedup < 2.81 for point in points[2:])

# after workload-layers
assert alexnet.flops == 3 * sum(operations for *_, operations in rows)

# after device-fit
assert round(rows["ResNet-50"][2], 2) == 0.22
refound = [
    (batch / pascal[name].seconds(ours.WORKLOADS[name], batch), rate)
    for name, rates in ours.P100_EXAMPLES_PER_S.items()
    for batch, rate in rates.items()
]
assert all(math.isclose(found, rate) for found, rate in refound)

# after timeline-draw
assert steps["4 machines, overlap"].seconds < steps["without"].seconds
for name, share in (("AlexNet", 0.96), ("VGG-16", 0.89)):
    last, model = sum(layer.parameters for layer in ours.WORKLOADS[name].layers[-3:]), ours.WORKLOADS[name]
    assert round(last / model.parameters, 2) == share

# after strong
small, medium, large = (lines[f"batch {batch}"][1][-1] for batch in (256, 1024, 4096))
assert 3.6 < medium / small < 4.1 and 3.6 < large / medium < 4.1
for batch in (256, 1024, 4096):
    near, far = ours.strong_scaling(setup, batch, [1024, 4096])
    assert far.speedup < 1.02 * near.speedup

# after success
assert 15 < critical < 40 and 2 < rows[3][3] < 3 and 7 < rows[7][3] < 20
assert all(0.75 < sooner / fitted < 1.33 for *_, sooner, fitted in rows)

# after share
assert lines["AlexNet"][1][1] > 50 and 13 < lines["Inception-v3"][1][4] < 15
by_work = sorted(names, key=lambda name: ours.WORKLOADS[name].flops / ours.WORKLOADS[name].parameters)
for waits in zip(*(lines[name][1][2:] for name in by_work), strict=True):  # from four devices on
    assert list(waits) == sorted(waits, reverse=True)

# after crossover-run
assert [row[3] for row in rows] == [14, 4] == [math.floor(row[2]) + 1 for row in rows]
assert all(0.7 * n < fastest < n for _, _, n, _, fastest in rows)

# after crossover-transformer
assert all(math.isclose(n, 1 + 0.75 * 4e6 * 50e9 / 400e12) for *_, n in rows)
(last,) = ours.strong_scaling(gpus, 4e6, [376])
assert math.isclose(last.compute_s, last.communication_s, rel_tol=1e-6)

# after sixteen-table
from course_lib.data_parallel.experiments import GOYAL_ERRORS

first, slower, other, more, fixed, free, usual = rows.values()
assert first[0] < 0.2 and usual[1] > 0.95
assert [ours.crossover_ranks(each, 256) for each in (setup, setup.but(device=k80), on_titan)] == [4, 14, 39]
assert all(a < b < c < d for a, b, c, d in zip(first, slower, other, more, strict=True))
assert tests["the same on K80"][0].step_s > tests["AlexNet, Titan X, 256 in all"][0].step_s
assert round(GOYAL_ERRORS[64 * 256] - GOYAL_ERRORS[256], 1) == 1.2
assert all(with_network > 0.9 * without for with_network, without in zip(fixed, free, strict=True))

# after clusters-table
assert all(perfect > said for _, _, said, perfect, _, _ in rows)
assert all(abs(eighty - said) < 0.03 for _, _, said, _, eighty, _ in rows)
assert round(100 * efficiency("VGG-16", 128, 4, 25e9, 64, 0.8)) == 71
assert 0.01 < efficiency("VGG-16", 512, 4, 25e9, 64, 0.8, outside_s=9.6e-6) - rows[2][4] < 0.02
inception, resnet101, vgg16, goyal = rows
assert all(0.75 < row[5] < 0.85 for row in (vgg16, goyal)) and all(row[5] < 0.65 for row in (inception, resnet101))
assert all((row[3] - row[4]) < 0.5 * (row[3] - row[2]) for row in (inception, resnet101))
assert max(rows, key=lambda row: row[3] - row[2]) is vgg16

# after own-measure clock
assert mine.latency_s > links.latency_s

# after own-predict
assert gradient_bytes == 4 * 19_210

# after own-predict clock
assert all(0.4 < predicted_s / emulated_s < 1.6 for _, predicted_s, emulated_s, _ in rows)

# after waiting-answers
if world_size > 1:  # one rank alone sends nothing
    messages = {fault: rows[letter][4] for letter, fault in letters.items()}
    assert messages["small buckets"] == 20 * messages["slow links"] == 20 * messages["slow rank"]

# after waiting-answers clock
loader, links, one, buckets = (rows[{fault: letter for letter, fault in letters.items()}[fault]] for fault in faults)
assert loader[0] > 4 * max(links[0], one[0], buckets[0])
if world_size > 1:  # one rank alone waits for nobody
    assert min(links[2], one[2], buckets[2]) > 1.5 * loader[2]
    assert one[2] - one[3] > 0.01 and all(each[3] > 0.9 * each[2] for each in (links, buckets))

# after profiler-run clock
*others, late = rows
assert late[1] > 0.3 and all(each[3] > 0.2 > late[3] and each[1] < 0.1 for each in others)
assert max(rows, key=lambda row: row[3]) is not late or world_size == 1

# after topk-bytes
assert sent[4][0] / sent[4][1] == 25 and sent[100][0] / sent[100][1] == 1

# after feedback-run
assert [a + b for a, b in zip(*arrived, strict=True)] == [5, -1, 9, 3]  # the sum of both gradients


def lost(comm, each):
    """How far the sums sent and all residuals are from the sum of three gradients."""
    all_reduce = squeeze.CompressedAllReduce(squeeze.TopK(0.1))
    given = torch.randn(3, 50, generator=torch.Generator().manual_seed(10 * each + comm.rank))
    row, left, sent = torch.empty(50), given.sum(0), torch.zeros(50)
    for gradient in given:
        all_reduce(comm, row.copy_(gradient))
        sent += row
    (residual,) = all_reduce.residuals.values()
    left -= residual
    ring_all_reduce(comm, left)
    return (sent - left).abs().max().item()


assert all(max(simulate(lost, p, args=(seed + p,)).results) < 1e-4 for p in (1, 2, 3, 5, 8))

# after sums-bytes
assert all(math.isclose(ring / cut, 32 / (1 + 64 * p / 102_400)) for p, ring, _, cut in rows)
assert all(math.isclose(64 / p, ring / gathered, rel_tol=0.01) for p, ring, gathered, _ in rows)

# after power-bytes
from course_lib.compression.published import POWER_SGD_RANK_2

assert round(rows[1][2]) == POWER_SGD_RANK_2 == 136
assert whole == 4 * 11_173_962 and sum(4 * shape[0] for shape in shapes if len(shape) == 1) == 38_440

# after compare-run
times_fewer, reached = ({name: row[place] for name, row in rows.items()} for place in (1, 2))
assert round(times_fewer["top 1%, error feedback"]) == 24 and 15 < times_fewer["1 bit, error feedback"] < 16
assert all(reached["fp32"] - reached[f"{name}, error feedback"] < 0.02 for name in ("1 bit", "top 1%"))
assert 27 < times_fewer["1 bit, sums too"] < 30 and reached["fp32"] - reached["1 bit, sums too"] < 0.02
assert all(reached["fp32"] - reached[name] > 0.2 for name in ("1 bit, without", "top 1%, without"))

# after compare-draw
feedback, without = (
    [outcomes[f"{name}, {how}"].accuracies for name in ("1 bit", "top 1%")] for how in ("error feedback", "without")
)
assert all(min(kept) > max(lost) for kept, lost in zip(feedback, without, strict=True))
thin, train = (outcomes[f"{name}, rank 4"].accuracies for name in ("thin matrices", "tensor train"))
assert all(a > b for a, b in zip(train, thin, strict=True))  # both in place of the first layer, from the start
assert mean(outcomes["DGC, 1%"].accuracies) < mean(feedback[1]) - 0.02

# after compare-rates
one_bit, top, dgc, kept = (row[3] for row in rows)
assert all(row[3] > row[1] for row in rows[:3])
assert max(one_bit, top) < reached["fp32"] - 0.05 and dgc < kept

# after prune-run
plain, weights, neurons = rows
assert min(weights[3], neurons[3]) > plain[3] - 0.03 and min(weights[3], neurons[3]) > 0.88
assert weights[2] < neurons[2] < weights[1] + 0.01
assert all(after < 0.51 * whole for *_, whole, after in (weights, neurons))

# after adam-run
adam, fast, one_bit, one_bit_fast, cold, raw = tried
assert 4.3 < rows[adam][0] / rows[one_bit][0] < 1 / (0.2 + 0.8 / 32)
assert rows[fast][1] < rows[adam][1] < rows[one_bit][1] < rows[adam][1] + 0.15
assert rows[one_bit_fast][1] / rows[one_bit][1] > rows[fast][1] / rows[adam][1]
assert rows[one_bit][1] < 0.8 * min(rows[cold][1], rows[raw][1])
assert sum(a < min(b, c) for a, b, c in zip(losses[one_bit], losses[cold], losses[raw], strict=True)) >= 4

# after compare-real
assert real == same

# after worth-table
dear, cheap = ([row[place] for row in rows] for place in (2, 3))
assert dear[0] > 12 and dear[1] > 1 > dear[2]
assert cheap[2] > 1 > cheap[3]
assert all((row[2] > 1) == (row[4] > 0.5) and (row[3] > 1) == (row[4] > 0.05) for row in rows)

# after moved
assert [row[2] for row in rows] == [4, 7, 12, 54, 14]
assert ours.crossover_ranks(setup.but(sent_share=1 / 32), 256) == 91  # without latency

# after planet-sizes
small, middle, large = (latency for *_, latency, _ in rows)
assert small > 0.99 and 0.03 < middle < 0.04 and large < 0.001 and rows[2][4] < 1

# after planet-run
always, local, long, short = ways
assert all(math.isclose(8 * rows[way][k], rows[always][k]) for way in (local, long, short) for k in (0, 1))
low, high = ({way: losses[way, rate] for way in ways} for rate in (0.004, 0.02))
assert all(a < b < c for a, b, c in zip(low[long], low[always], low[local], strict=True))
assert mean(high[short]) < mean(high[local]) and all(a < c for a, c in zip(high[local], high[long], strict=True))
assert mean(high[always]) < mean(high[short]) and mean(high[short]) - mean(high[always]) < 0.05
assert mean(high[always]) < min(mean(each) for each in low.values())
ways["a rate of 5, no momentum"] = (8, 5, 0)
assert at_sites("a rate of 5, no momentum", 0.004, seed)[0] > losses[always, 0.004][0]

# after planet-real clock
every_s, outer_s = real_s.values()
if world_size > 1:  # one site alone sends nothing
    assert 5 < every_s / outer_s < 9
    assert world_size != 4 or math.isclose(every_s, rows[always][1], rel_tol=0.2)

# after production-run
assert apart < 1e-5
