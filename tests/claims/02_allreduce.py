"""What the page '02 · AllReduce topologies' says, asserted: a block behind each cell that shows it."""

# after stakes
assert seconds["all-reduce, each with each"] > 3 * seconds["one backward pass"]
assert seconds["all-reduce, in a ring"] < seconds["one backward pass"] / 3

# after direct-run
assert all((result == everyones_sum).all() for result in report.results)

# after direct-wire
assert direct.trace.steps == 1
assert direct.trace.total_bytes == M * (M - 1) * P

# after direct-timeline
simulated_s = {ranks: on_the_wire(each_with_each, ranks, P).seconds for ranks in (2, 3, 5, 6, 7, M)}
assert all(abs(s - (ranks - 1) * (alpha + P * beta)) < 1e-9 for ranks, s in simulated_s.items())

# after central
assert central.trace.total_bytes == 2 * (M - 1) * P
assert central.trace.bytes_sent == [(M - 1) * P] + [P] * (M - 1)
assert 1.9 * direct.seconds < central.seconds < 2.1 * direct.seconds

# after first-circle-run
assert all(pages[rank][-1][rank] == everyones_sum for rank in range(world_size))

# after my-ring
assert all((result == everyones_sum).all() for result in report.results)

# after ring-second-picture
assert story.steps == 2 * (4 - 1)
assert story.complete

# after ring-bytes
assert ring.trace.steps == 2 * (M - 1)
assert ring.trace.total_bytes == 2 * P * (M - 1)
assert set(ring.trace.bytes_sent) == set(ring.trace.bytes_received) == {2 * P * (M - 1) // M}

# after ring-table
assert all(1e8 <= max(cost.bytes_sent) < 2e8 for cost in costs.values())

# after ring-same
assert pairs[0] == pairs[1]

# after tree-steps
assert story.complete
assert story.steps == 2 * 3  # 2 log2 8
my_messages = on_the_wire(my_tree, M, P).trace.messages
assert [sum(m.step == step for m in my_messages) for step in range(1, 7)] == [4, 2, 1, 1, 2, 4]

# after tree-bytes
assert tree.trace.bytes_sent == on_the_wire(my_tree, M, P).trace.bytes_sent  # yours, alike
assert tree.trace.total_bytes == ring.trace.total_bytes == 2 * P * (M - 1)
assert [sent // P for sent in tree.trace.bytes_sent] == [3, 1, 2, 1, 3, 1, 2, 1]

# after tree-or-ring
assert faster == ["tree", "tree", "ring"]
tiny_s = {n: [ALL_REDUCE_COSTS[n](840, world_size=m).seconds(fast) for m in range(2, 9)] for n in ("ring", "tree")}
assert [a > b for a, b in zip(*tiny_s.values(), strict=True)] == [False, False] + [True] * 5  # from 4 ranks on

# after doubling-picture
assert story.complete
assert story.steps == 2

# after halving-picture
assert story.complete
assert story.steps == 4

# after zoo-table
assert all(agree)
assert min(in_tensors, key=in_tensors.get) == "halving-doubling" and 1.75 < in_tensors["ring"] < 1.9
assert round(in_tensors["tree"]) == 2 * 3 and round(in_tensors["central"]) == 2 * 7
for ranks in (2, 3, 5, 8, 64):  # the bound: no algorithm spares its busiest rank more than the ring
    busiest = {name: max(cost(8_064_000, world_size=ranks).bytes_sent) for name, cost in ALL_REDUCE_COSTS.items()}
    assert min(busiest.values()) >= 2 * 8_064_000 * (ranks - 1) / ranks - 4 * ranks

# after hierarchical-run
from dataclasses import replace

assert [row[1] for row in rows] == ["1.97 P", "3.00 P", "24.00 P", "1.75 P", "1.75 P"]
assert times["ring"][0] > 15 * times["hierarchical"][0]
assert times["recursive doubling"][1] > 9 * times["hierarchical"][1]
assert times["halving-doubling"][0] > 5 * times["hierarchical"][0]
close = [times[name][1] for name in ("ring", "halving-doubling", "hierarchical")]
assert max(close) < 1.25 * min(close)
assert times["hierarchical"][0] < times["tree"][0] < 1.15 * times["hierarchical"][0]
halved = on_the_wire(ALL_REDUCES["halving-doubling"], 64, 64_000_000, cluster).trace.messages
assert max(m.message_bytes for m in halved if cluster.crosses_nodes(m.src, m.dst)) == 64_000_000 / 16
six = replace(cluster, ranks_per_node=6)
six_s = {name: on_the_wire(ALL_REDUCES[name], 36, 64_000_000, six).seconds for name in ("ring", "hierarchical")}
assert 1.7 < six_s["hierarchical"] / six_s["ring"] < 1.9
torus = ours.reduce_scatter_cost(64_000, world_size=8), ours.ring_all_reduce_cost(8_000, world_size=8)
torus, flat = (*torus, ours.all_gather_cost(64_000, world_size=8)), ours.ring_all_reduce_cost(64_000, world_size=64)
assert (sum(cost.steps for cost in torus), flat.steps) == (28, 126)
assert sum(cost.bytes_sent[0] for cost in torus) == flat.bytes_sent[0]

# after pipelined-timelines
assert pipelined.trace.total_bytes == plain.trace.total_bytes
assert 2 / 3 * plain.seconds < pipelined.seconds < 0.75 * plain.seconds
tiny = on_the_wire(ours.pipelined_ring_all_reduce, 4, 64_000, adding, segment_bytes=4_000)
assert tiny.seconds > 2 * on_the_wire(ours.ring_all_reduce, 4, 64_000, adding).seconds  # latencies

# after pipelined-timeline
in_tensors_of = {
    (name, machines, size): ALL_REDUCE_COSTS[name](size, world_size=machines).seconds(fast) / (size * beta)
    for name in ("ring", "double tree", "halving-doubling")
    for machines, size in ((8, 10**9), (1024, P))
}
assert [round(times, 1) for times in in_tensors_of.values()] == [1.8, 18.0, 2.7, 7.2, 1.8, 2.2]

# after straggler-tree
assert slow_tree.seconds / tree.seconds < 2.01 < 3.99 < slow_ring.seconds / ring.seconds
assert slow_ring.seconds < slow_tree.seconds

# after straggler-each
assert rows["ring"] == ("4.0×", "8 of 56", "10.0×")
assert rows["tree"] == ("2.0× to 4.0×", "14 of 56", "2.5×")

# after detour
from math import factorial

assert seconds["ring around"] == ring.seconds  # as if nothing had happened
assert factorial(M - 2) / factorial(M - 1) == 1 / 7  # of all orders, those with one given link

# after killed
assert type(died).__name__ == "RankDiedError" and "rank 1 died" in str(died)

# after first-wins-table
one, first_of_two, halves = simulated_s
assert first_of_two < one / 1.3 < one < halves and torch.equal(weights[0], weights[1])
independent_s = 0.1 + 0.5 * (1 - (1 - 0.05**2) ** 8)
assert round(independent_s, 2) == 0.11 < first_of_two < 0.18
assert round(1 - 0.95**16, 2) == 0.56 and round(1 / 0.05**2) == 400
assert abs(one / 0.268 - 1) < 0.3 and abs(halves / 0.330 - 1) < 0.3

# after map-draw
everywhere = {name for row in winners.names for name in row}
assert everywhere == {"direct", "recursive doubling", "halving-doubling", "ring"}
times_of_5 = {name: times[name](1000, 5) for name in names}
assert (
    times_of_5["direct"] == min(times_of_5.values())
    and abs(times_of_5["recursive doubling"] / times_of_5["direct"] - 1) < 1e-9
)
assert all(
    times["recursive doubling"](100, ranks) == min(times[name](100, ranks) for name in names) for ranks in (6, 7, 9, 12)
)
assert round(times["direct"](16e6, 3) / times["ring"](16e6, 3), 1) == 1.5
for ranks in (2, 4, 8, 64, 1024):
    ring_cost, halving_cost = (ALL_REDUCE_COSTS[name](2**20, world_size=ranks) for name in ("ring", "halving-doubling"))
    assert max(ring_cost.bytes_sent) == max(halving_cost.bytes_sent)
    assert halving_cost.steps < ring_cost.steps or ranks == 2
assert all(times["ring"](1e9, ranks) < times["halving-doubling"](1e9, ranks) for ranks in (3, 6, 24, 96, 768))

# after crossover
below, above = (round(crossover * share / 256) * 256 for share in (0.95, 1.05))
assert times["recursive doubling"](below, 64) < times["halving-doubling"](below, 64)
assert times["recursive doubling"](above, 64) > times["halving-doubling"](above, 64)
assert abs(times["ring"](border, 64) / (2 * 2 * 63 * fast.latency_s) - 1) < 1e-9

# after a100-bound
assert 0.97 * bound < reached < bound
assert round(reached / (published.A100_NVLINKS * 25e9), 2) == 0.78  # data sheet

# after a100-fit-rows
assert misses == [36, 6, 10]

# after a100-constants
assert rates == ["59 GB/s", "200 GB/s", "235 GB/s"]  # a quarter, 12 × 16.7, all

# after a100-draw
from itertools import pairwise

choices = [(t.message_bytes, published.nccl_ring_choice(t.message_bytes)) for t in sweep]
switches = [size for (size, before), (_, after) in pairwise(choices) if before != after]
assert switches == [2**20, 2**23]  # the last size before each switch
for size, seconds in sweep:
    model_s = published.nccl_ring_seconds(published.nccl_ring_choice(size), size)
    if size <= 2**23:
        assert 23e-6 < seconds - model_s < 61e-6
    else:
        low, high = (1.15, 1.55) if size <= 2**28 else (0.99, 1.05)
        assert low < seconds / model_s < high
clock_s = dict(sweep)
assert max(clock_s[2**k] for k in (20, 21, 22)) < 1.01 * min(clock_s[2**k] for k in (20, 21, 22))
assert 1.9 < clock_s[2**24] / clock_s[2**23] < 2.2
above_s = [s - published.nccl_ring_seconds(published.nccl_ring_choice(size), size) for size, s in sweep[:9]]
assert above_s[:6] == sorted(above_s[:6]) and above_s[5:] == sorted(above_s[5:], reverse=True)  # 1.05 MB is the sixth

# after goyal
assert (round(goyal.needed_bits_per_s / 1e9, 1), round(goyal.efficiency, 2)) == (12.8, 0.89)
assert 1.9e-3 < alphas["one message"] < 2e-3 and 11e-6 < min(alphas.values()) < 13e-6
of_4m_steps_s = min(alphas.values()) * (2 * 31 - 3 * 10) / (4 * 32 - 3 * 10)
assert round(of_4m_steps_s * 1e6) == 4

# after predict-here-draw clock
import statistics

for line, points in zip(curves[::2], curves[1::2], strict=True):
    ratios = [m / c for m, c in zip(points.seconds, line.seconds, strict=True)]
    assert 1 / 50 < statistics.median(ratios) < 50  # a busy machine promises no more

# after emulated
assert all(emulated.trace.bytes_sent == simulated.trace.bytes_sent for emulated, simulated in pairs)

# after emulated clock
turns = {"direct": (2 * ranks_here - 3) / (ranks_here - 1)}  # who comes first takes the port
for (name, *_), (emulated, simulated) in zip(rows, pairs, strict=True):
    if emulated.lag_s < 0.1 * simulated.seconds:  # else other programs wanted the cores
        assert 0.75 < emulated.seconds / simulated.seconds < 1.25 * turns.get(name, 1)

# after scales-simulated
assert max(errors) < 1e-9

# after scales-draw
slow_s = {(c.name, c.x[0]): c.seconds[0] for c in slow_curves if c.origin != "emulated"}
assert slow_s["ring", 128] < slow_s["tree", 128] and slow_s["ring", 256] > slow_s["tree", 256]
assert slow_s["ring", 1024] > 10 * slow_s["halving-doubling", 1024]
assert round(slow_s["halving-doubling", 1024] / slow_s["halving-doubling", 2], 1) == 2.6

# after explore-answers
before, after, *slow_us = rows.values()
assert before[0] < before[1] and after[0] > after[1] and slow_us == [[315, 250], [315, 450]]
border_bytes = (14 - 6) / (6 - 1.75) * 60e-6 * 10e9
assert round(border_bytes / (60e-6 * 10e9), 2) == 1.88 and round(border_bytes / 1e6, 1) == 1.1

# after explore-nodes
assert leaving == {"tree": 1, "halving-doubling": 1, "hierarchical": 1, "ring": 1.75}
assert in_tensors["hierarchical"] > in_tensors["ring"]  # all links equal: the table of all algorithms

# after dist-compare-cell
assert torch.allclose(mine, theirs, atol=1e-5)
assert ranks_differ == 0

# after dist-drift
assert [*drift.values()] == [3, 0]
assert [last_bits(each_with_each, ranks) for ranks in (2, 3)] == [0, 2]

# after remember-check
from math import ceil, floor

assert off < 1e-9
for ranks in (3, 5, 6, 7, 12):
    steps = [on_the_wire(ALL_REDUCES[name], ranks, 8_064_000).trace.steps for name in ("tree", "recursive doubling")]
    assert steps == [2 * ceil(log2(ranks)), floor(log2(ranks)) + 2]
borders = [ranks / (ranks - 2) for ranks in (4, 8)]  # of one-shot and two-shot, in α/β
assert borders[0] / borders[1] == 1.5
for ranks in (3, 5, 6, 7, 12):
    halving = on_the_wire(ALL_REDUCES["halving-doubling"], ranks, 8_064_000).trace
    assert halving.steps == 2 * floor(log2(ranks)) + 2
