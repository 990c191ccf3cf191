"""What the page '10 · More on limits of scaling' says, asserted: a block behind each cell that shows it."""

# after clusters
from math import isclose

published_of = {row[0]: row for row in rows}
assert all(0.01 < perfect - said < 0.105 for _, _, said, perfect, _, _ in rows)
assert all(abs(eighty - said) < 0.03 for _, _, said, _, eighty, _ in rows)
assert max(rows, key=lambda row: row[3] - row[2])[0] == "Horovod, VGG-16"
assert [published_of[f"Horovod, {name}"][5] for name in ("Inception-v3", "ResNet-101")] == [0.55, 0.63]
assert all(0.75 < published_of[name][5] < 0.85 for name in ("Horovod, VGG-16", "Goyal, ResNet-50"))
assert all(isclose(efficiency(ours.SYSTEMS[name], ours.LINE_SHARE), row[4]) for name, row in published_of.items())

# after own-predict
assert gradient_bytes == 4 * 19_210

# after own-predict clock
assert mine.latency_s > links.latency_s
assert all(0.4 < predicted_s / came_s < 1.6 for _, predicted_s, came_s, _ in rows)

# after intensity
millions, work, intensity = ({row[0]: row[place] for row in rows} for place in (1, 2, 3))
assert 2.3 < millions["AlexNet"] / millions["ResNet-50"] < 2.5 and 5.5 < work["ResNet-50"] / work["AlexNet"] < 6
assert intensity["ResNet-50"] / intensity["AlexNet"] > 10

# after keuper
first, slower, other, more = (row[1:] for row in rows)
assert all(a < b < c < d for a, b, c, d in zip(first, slower, other, more, strict=True))
assert tests["the same on K80"][0].step_s > tests["AlexNet, Titan X, 256 in all"][0].step_s
n = 1 + 0.2 * 6.8e9 / (2 * alexnet.gradient_bytes)
assert isclose(n, 1 + 256 * (alexnet.flops / alexnet.parameters) * 6.8e9 / (8 * titan.flops_per_s))

# after half
shares = {row[0]: row[3] for row in rows}
assert [round(min(shares.values()), 2), round(max(shares.values()), 2)] == [0.13, 0.22]
assert max(rows, key=lambda row: row[1])[0] == "VGG-16" and rows[3][1] > 10.6
assert isclose(gpu.efficiency(gpu.half_batch), 0.5)

# after laws
assert all(isclose(row[1], row[2]) and isclose(row[3], row[4]) for row in rows)
assert rows[-1][1] < (half + 256) / half < 30 and round(rows[-1][3]) == 800

# after power-bytes
from course_lib.compression.published import POWER_SGD_RANK_2, resnet18_cifar_shapes

assert [round(row[2]) for row in rows] == [387, 238, 135, 19]
small = resnet18_cifar_shapes()
whole = 4 * sum(torch.Size(shape).numel() for shape in small)
assert round(whole / squeeze.power_sgd_bytes(small, 2)) == POWER_SGD_RANK_2 == 136
shrinks = {shape: shape[0] * shape[1] / (4 * sum(shape)) for shape in gpt2_shapes() if len(shape) == 2}
blocks = [times for shape, times in shrinks.items() if shape[0] not in (50_257, 1024)]
assert (round(min(blocks)), round(max(blocks)), round(shrinks[50_257, 768])) == (96, 154, 189)

# after power-speedup
assert rows[0][3] > 14.4 and rows[1][3] < 1
assert isclose(2 * 2 * 15 * 0.075, 4.5) and 4.5 < rows[1][2] < 4.6

# after power-learns
by_job = dict(zip(jobs, rows, strict=True))
assert all(abs(by_job["fp32", rate][3] - by_job["PowerSGD, rank 2", rate][3]) < 0.02 for rate in (0.5, 1))
assert 7 < rows[0][2] / rows[2][2] < 8

# after adam-run
best = {row[0]: min(row[2:]) for row in rows}
adam, one_bit, cold, raw = best.values()
assert adam < one_bit < min(cold, raw)
assert 4 < rows[0][1] / rows[1][1] < 5

# after adam-price
speedups = [alone_s / (0.2 * step_s(share) + 0.8 * step_s(1 / 32)) for share in (1, 1 / 2)]
assert [round(each, 1) for each in speedups] == [2.5, 4.3]
assert 4 < 1 / (0.2 + 0.8 / 32) < 5 < 1 / (0.15 + 0.85 / 32) < 6

# after bits-run
assert message.tolist()[-1] == 0b01010000 == 64 + 16 and message[:8].view(torch.float32).tolist() == [3, -4]

# after bits-lengths
times_shorter = {row[0]: row[3] for row in rows}
assert times_shorter[1] < times_shorter[2] < 1 < times_shorter[3]
lengths = {n: 4 * n / len(squeeze.OneBit().compress(torch.ones(n))) for n in range(1, 1100)}
assert lengths[960] == 30 and 950 < min(n for n, times in lengths.items() if times > 30) < 1000

# after waiting-run
if world_size > 1:  # one rank alone sends nothing
    messages = {fault: rows[letter][4] for letter, fault in letters.items()}
    assert messages["small buckets"] == 20 * messages["slow links"] == 20 * messages["slow rank"]

# after waiting-run clock
loader, links_, one, buckets = (rows[{fault: letter for letter, fault in letters.items()}[fault]] for fault in faults)
assert loader[0] > 4 * max(links_[0], one[0], buckets[0])
if world_size > 1:  # one rank alone waits for nobody
    assert min(links_[2], one[2], buckets[2]) > 1.5 * loader[2]
    assert one[2] - one[3] > 0.01 and all(each[3] > 0.9 * each[2] for each in (links_, buckets))

# after profiler-run clock
*others, late = rows
assert late[1] > 0.3 and all(each[3] > 0.2 > late[3] and each[1] < 0.1 for each in others)

# after prune-run
plain, weights, neurons = rows
assert min(weights[3], neurons[3]) > plain[3] - 0.03
assert weights[2] < neurons[2] < weights[1] + 0.01
assert all(after < 0.51 * whole for *_, whole, after in (weights, neurons))

# after prune-first
dense, pruned_first, narrow = (row[2] for row in rows)
assert 0.06 < dense - pruned_first < 0.11 and dense - narrow < 0.03

# after ddp-run
assert torch.equal(ours_row, theirs)
