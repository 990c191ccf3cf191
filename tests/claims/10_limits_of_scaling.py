"""What the page '10 · Limits of scaling' says, asserted: a block behind each cell that shows it."""

# after setup
from math import isclose

assert ours.NANOGPT_BATCH == 480 and 480 * 1024 == 491_520
assert isclose(in_one_room.compute_s(480), 4 * 24 * 3600 * 8 / 600_000) and round(in_one_room.compute_s(480), 1) == 4.6
assert 31 < 600_000 * in_one_room.compute_s(480) / 86_400 < 33  # a month
assert round(gpt2.gradient_bytes / 1e6) == 498 and round(gpt2.parameters / 1e6) == 124

# after stake
times = {row[0]: row[3] for row in rows}
assert min(times, key=times.get) == 1 and round(times[16], 1) == 7.6 and round(rows[-1][4], 2) == 0.61
everywhere = [step_of(in_one_room, gpus).step_s for gpus in range(1, 65)]
assert min(everywhere) == everywhere[0]  # and no number between is better
assert [round(row[2], 1) for row in rows] == [0, 4.0, 6.0, 7.5]

# after end-run
from itertools import product

assert [round(row[1], 2) for row in rows] == [1.58, 6.79, 58.86]
assert all(best < n for _, n, best in rows)
for latency_s, gigabits, overlap, bucket_bytes in product(
    (0, 5e-5, 0.01), (1, 3, 10, 100), (True, False), (10**5, 10**9)
):
    tried = in_one_room.but(network=Network(latency_s, gigabits * 125e6), overlap=overlap, bucket_bytes=bucket_bytes)
    limit = 1 + alone_s * gigabits * 125e6 / (2 * gpt2.gradient_bytes)
    assert all(step_of(tried, gpus).speedup <= max(1, limit) for gpus in (1, 2, 3, 5, 7, 8, 16, 59, 60, 64, 200))
point = step_of(in_one_room)  # forward, then the longer one; and the first bucket
assert abs(point.step_s - (point.compute_s / 3 + max(2 * point.compute_s / 3, point.communication_s))) < 0.02

# after faster
assert [round(row[3], 2) for row in rows] == [0.61, 0.41] and [round(row[2], 1) for row in rows] == [7.6, 7.6]

# after size
assert all(isclose(row[3], rows[0][3]) for row in rows) and round(rows[0][3], 2) == 1.58
assert isclose(rows[0][3], 1 + 0.75 * 491_520 * 125e6 / a100.flops_per_s)
assert round(a100.flops_per_s / 1e12) == 80  # of 312

# after weak
(_, _, strong_batch, _, _, _), (_, _, weak_batch, weak_s, weak_times, weak_efficiency) = rows
assert (strong_batch, weak_batch) == (480, 16 * 480) and round(weak_times, 1) == 7.9 and 7.9 < weak_times < 8
assert isclose(weak_times, 16 * alone_s / weak_s) and round(weak_efficiency, 2) == 0.50

# after topk
assert (round(ring), round(top_one_percent)) == (933, 149) and isclose(ring / top_one_percent, 6.25)

# after one-bit
to_all = {name: dict(zip(counts, values, strict=True)) for name, values in sent.items()}
assert isclose(to_all["1 bit, to all"][64], to_all["fp32, ring"][64])
assert (
    to_all["1 bit, to all"][32] < to_all["fp32, ring"][32] and to_all["1 bit, to all"][128] > to_all["fp32, ring"][128]
)
assert isclose(2 * 99 / 100 * megabytes, 99 / 50 * megabytes)  # top 1% on 100
sixty_four = {
    name: step_of(in_one_room.but(**how), 64).speedup
    for name, how in {"fp32": {}, "1 bit": {"sent_share": 1 / 32, "to_all": True}}.items()
}
assert [round(value, 2) for value in sixty_four.values()] == [0.58, 0.58]

# after bars-second
shown = {name: round(value, 2 if value < 2 else 1) for name, value in bars.items()}
assert shown == {"fp32": 0.61, "fp16": 1.19, "1 bit, to all": 2.3, "top 1%, to all": 3.5, "1 bit, cut": 12.7}


def bytes_of_a_rank(comm, kind, compressor):
    kind(compressor)(comm, torch.zeros(102_400))


for p in (2, 4, 16):  # what the library sends: to all, and cut
    whole = 4 * 102_400
    to_all = simulate(bytes_of_a_rank, p, (squeeze.CompressedAllReduce, squeeze.OneBit())).trace.bytes_sent[0]
    few = simulate(bytes_of_a_rank, p, (squeeze.CompressedAllReduce, squeeze.TopK(0.01))).trace.bytes_sent[0]
    cut = simulate(bytes_of_a_rank, p, (squeeze.CompressedSums, squeeze.OneBit())).trace.bytes_sent[0]
    assert isclose(to_all, (p - 1) * whole / 32, rel_tol=0.01) and isclose(few, (p - 1) * whole / 50)
    assert isclose(cut, 2 * (p - 1) / p * whole / 32 * (1 + 64 * p / 102_400))
many = [step_of(in_one_room.but(sent_share=1 / 32), gpus).speedup for gpus in (32, 64, 128)]
assert many == sorted(many, reverse=True)  # what grows is the number of messages

# after feedback
assert first == [5, 0, 7, 3] and [a + b for a, b in zip(first, second, strict=True)] == [5, -1, 9, 3]


def lost(comm, each):
    """How far the sums sent and all residuals are from the sum of three gradients."""
    all_reduce = squeeze.CompressedAllReduce(squeeze.TopK(0.1))
    given = torch.randn(3, 50, generator=torch.Generator().manual_seed(10 * each + comm.rank))
    row, left, arrived = torch.empty(50), given.sum(0), torch.zeros(50)
    for gradient in given:
        all_reduce(comm, row.copy_(gradient))
        arrived += row
    (residual,) = all_reduce.residuals.values()
    left -= residual
    ring_all_reduce(comm, left)
    return (arrived - left).abs().max().item()


from course_lib.collectives import ring_all_reduce

assert all(max(simulate(lost, p, args=(seed + p,)).results) < 1e-4 for p in (1, 2, 3, 5, 8))


def lost_by_sums(comm, each):
    """The same of one bit, cut: with the residuals of messages alone, and with those of the sums, too."""
    all_reduce = squeeze.CompressedSums(squeeze.OneBit())
    given = torch.randn(3, 50, generator=torch.Generator().manual_seed(10 * each + comm.rank))
    row, left, arrived = torch.empty(50), given.sum(0), torch.zeros(50)
    for gradient in given:
        all_reduce(comm, row.copy_(gradient))
        arrived += row
    (residual,), (of_the_sum,) = all_reduce.residuals.values(), all_reduce.sum_residuals.values()
    both = left - residual
    both.tensor_split(comm.world_size)[comm.rank].sub_(of_the_sum)
    sums = [each.clone() for each in (left - residual, both)]
    for each in sums:
        ring_all_reduce(comm, each)
    return [(arrived - each).abs().max().item() for each in sums]


for p in (1, 2, 3, 5, 8):
    for alone, with_sums in simulate(lost_by_sums, p, args=(seed + p,)).results:
        assert with_sums < 1e-4 and (alone > 0.1) == (p > 1)  # one rank's sum is its message


def keeps_no_overflow(comm):
    """Of two buckets, where the second overflows."""
    all_reduce, rows = squeeze.CompressedAllReduce(squeeze.TopK(0.5)), (torch.zeros(4), torch.zeros(4))
    for row in rows:
        all_reduce(comm, row.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0])))
    before = all_reduce.state_dict()["residuals"]
    for row, most in zip(rows, (5.0, float("inf")), strict=True):
        all_reduce(comm, row.fill_(most if comm.rank == 0 else 1.0))
    after = all_reduce.state_dict()["residuals"]
    all_reduce.scale = 2.0
    grown = all_reduce.state_dict()["residuals"]
    same = all(torch.equal(after[number], kept) for number, kept in before.items())
    return same and all(torch.equal(grown[number], 2 * kept) for number, kept in before.items())


assert all(simulate(keeps_no_overflow, 3).results)

# after learn
best = accuracies["fp32", 1]
if world_size == 4:
    assert round(accuracies["fp32", 1], 2) == 0.97 or seed != 0
    assert 0.25 < accuracies["1 bit, no feedback", 1] < 0.35 or seed != 0
    assert abs(accuracies["1 bit, no feedback", 1 / 8] - 0.89) < 0.02
    assert accuracies["top 1%, no feedback", 1 / 8] < accuracies["top 1%, no feedback", 1]
    assert all(best - accuracies[way, 1] < 0.07 for way in ("1 bit, cut", "top 1%"))
    assert all(
        best - accuracies[f"{way}, no feedback", rate] > 0.04 for way in ("1 bit", "top 1%") for rate in (1, 1 / 8)
    )
    assert accuracies["1 bit, no feedback", 1 / 8] > accuracies["1 bit, no feedback", 1]
    early = []  # after 80 steps, each at the best rate tried, six for fp32 and four for one bit
    for way, rate in (("fp32", 0.5), ("1 bit, cut", 2)):
        how = {"seed": seed, "steps": 80, "rate": rate}
        early.append(simulate(train_with, 4, (digits, way), how, ranks="greenlets").results[0])
    assert early[1] > early[0] + 0.01 or seed != 0

# after pack
assert [round(value, 1) for value in rows[0][2:]] == [12.7, 12.6, 8.3]
assert [round(rows[2][place], 1) for place in (1, 4)] == [15.6, 8.6] and rows[2][1] > 14.4
assert [round(rows[1][place], 1) for place in (1, 3)] == [5.3, 14.6] and rows[2][2] - rows[2][1] < 0.5
assert round(0.5e-9 * gpt2.gradient_bytes, 2) == 0.25 and round(step_of(in_one_room).compute_s, 2) == 0.29
fifth = 1 / (0.2 / bars["fp32"] + 0.8 / bars["1 bit, cut"])
assert round(fifth, 1) == 2.5

# after cities
shown = {row[0]: row[3] for row in rows}
assert round(shown["1 bit, cut"], 1) == 1.7 and round(shown["1 bit, cut, halving-doubling"], 1) == 4.1
assert 2 * 15 * 0.075 == 2.25 and round(rows[1][2], 1) == 2.5 and round(shown["fp32"], 2) == 0.46
eight_steps_s = step_of(in_cities.but(all_reduce="halving-doubling", sent_share=1e-5)).communication_s
assert isclose(eight_steps_s, 8 * 0.075, rel_tol=0.01)

# after period
assert least == 304 and round(speedup_of(in_one_room, 500), 1) == 15.2 and round(speedup_of(in_cities, 500), 1) == 15.0

# after loss-first
by_way = {name: losses[0.004, *way] for name, way in ways.items()}
always, local, diloco = by_way.values()
if world_size > 1:
    assert diloco < 0.8 * always and always < local

# after loss-second
better = {name: losses[0.02, *way] for name, way in ways.items()}
if world_size == 4:
    assert 2.4 < better["every 8, DiLoCo"] / better["every step"] < 3.6
    assert better["every step"] < min(by_way.values()) and min(better, key=better.get) == "every step"
assert world_size == 1 or better["every 8, DiLoCo"] > 1.5 * better["every step"]

# after explorer
explorer = ScalingExplorer()
assert "0.61 times" in explorer.in_words
far = {"latency_s": 0.075, "early": False}
said = {"outer step every 500": "15.0", "outer step every 100": "12.0", "outer step every 8": "3.1", "fp32": "0.46"}
assert all(f" {times} times" in ScalingExplorer(**far, remedy=remedy).in_words for remedy, times in said.items())
assert " 0.13 times" in ScalingExplorer(latency_s=0.075).in_words
assert " 43" in ScalingExplorer(**far, remedy="outer step every 500", ranks=64).in_words
for remedy in ("fp16", "1 bit, to all", "top 1%, to all", "1 bit, cut"):
    said_times = ScalingExplorer(**far, remedy=remedy).in_words.partition("in all: ")[2].partition(" times")[0]
    assert float(said_times) < 2

# after check-yourself
centres = in_one_room.but(network=Network(latency_s=0.03, bytes_per_s=12.5e9), **whole)
plain, one_bit = (step_of(centres.but(sent_share=share), 2) for share in (1, 1 / 32))
assert round(plain.communication_s, 1) == 0.1 and round(plain.step_s, 1) == 2.4
assert isclose(plain.communication_s, 0.06 + 0.04, rel_tol=0.01) and 0.06 < one_bit.communication_s < 0.062
