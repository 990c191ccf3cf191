"""What the second page of chapter 02 says, as asserts: each block runs behind the cell that its head names."""

# after imports
from math import ceil, floor, isclose, log2

alpha_b = links.latency_s * links.bytes_per_s
assert isclose(alpha_b, 62_500)

# after bits-drift
assert [*drift.values()] == [3, 0, 0, 0, 0]
assert [ranks_that_differ(sums_in_own_order(ranks)) for ranks in (2, 3, 5)] == [0, 2, 4]

# after nccl-swap
from course_lib import CommError


def hangs(program, ranks=2):
    """Whether a program hangs by NCCL's rules."""
    try:
        simulate(program, ranks, rules="nccl")
    except DeadlockError:
        return True
    return False


assert hangs(swap)


def to_one_and_then_to_two(comm):
    """Rank 1 receives only when 2 has received."""
    box = torch.zeros(1)
    if comm.rank == 0:
        works = [comm.isend(box, 1), comm.isend(box, 2)]
        [work.wait() for work in works]
    elif comm.rank == 2:
        comm.recv(box, 0)
        comm.send(box, 1)
    else:
        comm.recv(box, 2)
        comm.recv(box, 0)


assert hangs(to_one_and_then_to_two, 3)
assert simulate(to_one_and_then_to_two, 3).results == [None] * 3  # by Gloo's rules it comes to its end


def from_anyone(comm):
    """A receive that names nobody."""
    if comm.rank == 0:
        comm.recv(torch.zeros(1))
    else:
        comm.send(torch.zeros(1), 0)


try:
    simulate(from_anyone, 2, rules="nccl")
    allowed = True
except (CommError, TypeError):
    allowed = False
assert not allowed

# after nccl-batch
assert simulate(swap_at_once, 2, rules="nccl").results == [1.0, 0.0]
assert not hangs(lambda comm: ours.ring_all_reduce(comm, torch.ones(8)), 4)

# after adding-timelines
assert pipelined.trace.total_bytes == plain.trace.total_bytes
assert 2 / 3 * plain.seconds < pipelined.seconds < 0.7 * plain.seconds
tiny = on_the_wire(ours.pipelined_ring_all_reduce, 4, 64_000, adding, segment_bytes=4_000)
assert tiny.seconds > 1.5 * on_the_wire(ours.ring_all_reduce, 4, 64_000, adding).seconds  # latencies

# after adding-double
by_case = {row[:2]: dict(zip(names, row[2:], strict=True)) for row in rows}
assert by_case[32, 100_000_000]["double tree"] > by_case[32, 100_000_000]["ring"]
assert all(case["double tree"] < case["ring"] for (ranks, _), case in by_case.items() if ranks > 32)
assert [case["double tree"] < case["halving-doubling"] for case in by_case.values()] == [False, False, False, True]

# after clock-emulated
assert all(emulated.trace.bytes_sent == simulated.trace.bytes_sent for emulated, simulated in pairs)

# after clock-scales
assert max(errors) < 1e-9

# after clock-scales-draw
slow_s = {(c.name, c.x[0]): c.seconds[0] for c in slow_curves if c.origin != "emulated"}
assert slow_s["ring", 128] < slow_s["tree", 128] and slow_s["ring", 256] > slow_s["tree", 256]
assert round(slow_s["halving-doubling", 1024] / slow_s["halving-doubling", 2], 1) == 2.6
assert 1.9 < slow_s["tree", 2] / slow_s["ring", 2] < 2
assert 1024 * 2 * 1023 > 2_000_000

# after any-number-picture
messages = on_the_wire(ours.recursive_doubling_all_reduce, 5, 4_000).trace.messages
assert {(m.src, m.dst) for m in messages if m.step == 1} == {(4, 0), (2, 3), (3, 2)}
assert [(m.src, m.dst) for m in messages if m.step == 4] == [(0, 4)] and max(m.step for m in messages) == 4

# after any-number-table
assert [row[1] for row in rows] == [5, 7, 7, 6] and 32 + 8 + 4 == 44
for ranks in (3, 5, 6, 7, 12):
    cost = ALL_REDUCE_COSTS["recursive doubling"](8_064_000, world_size=ranks)
    assert cost.steps == floor(log2(ranks)) + 2 and ceil(log2(ranks)) <= cost.steps
    assert ALL_REDUCE_COSTS["halving-doubling"](8_064_000, world_size=ranks).steps == 2 * floor(log2(ranks)) + 2

# after cards-slices
assert [round(1000 * seconds, 1) for seconds in rows.values()] == [41.1, 8.8]

# after cards-torus
assert rows == {"one ring of 64": (126, 126_000), "torus of 8 × 8": (28, 126_000)}

# after slow-each
assert [rows[name][3] for name in rows] == ["56 of 56", "8 of 56", "14 of 56", "24 of 56"]
assert [round(1000 * rows[name][4]) for name in ("ring", "halving-doubling")] == [281, 172]
assert [round(1000 * rows[name][0]) for name in ("ring", "halving-doubling")] == [28, 28]
assert [isclose(row[1], row[2], rel_tol=1e-6) for row in rows.values()] == [True, True, False, True]
by_rank = [on_the_wire(ours.tree_all_reduce, 8, 100_000_000, network).seconds for network in ranks_slow]
assert max(by_rank) == by_rank[0] and all(isclose(by_rank[leaf], min(by_rank)) for leaf in (1, 3, 5, 7))

# after slow-detour
from math import factorial

assert isclose(seconds["ring around"], on_the_wire(ours.ring_all_reduce, 8, 100_000_000).seconds)  # costs nothing
assert seconds["ring"] > 900 * seconds["ring around"] and seconds["tree"] > 100 * rows["tree"][0]
assert factorial(6) / factorial(7) == 1 / 7  # of all orders, those with one given link

# after a100-fit
bound = published.A100_NVLINKS * published.A100_NVLINK_BYTES_PER_S
assert bound == 240e9 and round(reached / bound, 2) == 0.98
assert [round(100 * fit.worst_error) for fit in fits.values()] == [36, 6, 10]
assert 7.5 < fits["from 16.8 MB"].bytes_per_s / fits["up to 1.05 MB"].bytes_per_s < 8.5

# after a100-constants
assert rates == ["59 GB/s", "200 GB/s", "235 GB/s"]
steps = [published.NCCL_RING_PROTOCOLS[name].step_s for name in ("LL", "LL128", "Simple")]
assert steps == sorted(steps)

# after a100-draw
from itertools import pairwise

choices = [(t.message_bytes, published.nccl_ring_choice(t.message_bytes)) for t in sweep]
assert [size for (size, before), (_, after) in pairwise(choices) if before != after] == [2**20, 2**23]
for size, seconds in sweep:
    model_s = published.nccl_ring_seconds(published.nccl_ring_choice(size), size)
    if size <= 2**23:
        assert 23e-6 < seconds - model_s < 61e-6
    else:
        low, high = (1.175, 1.535) if size <= 2**28 else (0.95, 1.05)
        assert low < seconds / model_s < high
clock_s = dict(sweep)
assert max(clock_s[2**k] for k in (20, 21, 22)) < 1.01 * min(clock_s[2**k] for k in (20, 21, 22))
assert 2 < clock_s[2**24] / clock_s[2**23] < 2.2

# after dist-compare
assert torch.allclose(mine, theirs, atol=1e-5)
assert ranks_differ == 0

# after dist-time
borders = [ranks / (ranks - 2) for ranks in (4, 8)]  # of one-shot and two-shot, in α · B
assert borders[0] / borders[1] == 1.5
