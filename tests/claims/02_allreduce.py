"""What the lecture of chapter 02 says, as asserts: each block runs behind the cell that its head names."""

# after stakes
from math import isclose

from course_lib import published

assert isclose(gradient_bytes / links.bytes_per_s, 0.016) and isclose(links.bytes_per_s * 8, 50e9)
goyal = published.GOYAL_2017
assert (goyal.servers, goyal.backward_s, goyal.link_bytes_per_s) == (32, 0.125, 6.25e9)
assert isclose(goyal.gradient_bytes, gradient_bytes)


def is_simulated(seconds, all_reduce, ranks, message_bytes=gradient_bytes, network=links):
    """Whether the simulator plays an all-reduce in as many seconds."""
    payload = torch.empty(message_bytes // 4, device="meta")
    return isclose(simulate(all_reduce, ranks, args=(payload,), network=network).seconds, seconds, rel_tol=1e-9)


# after bars-first
assert round(1000 * bars["central"]) == 993 and bars["central"] > 7 * 0.125

# after central-timeline
assert central.trace.steps == 2 and isclose(central.seconds, plan_seconds(14, 14))

# after direct-wire
assert [row[1] for row in rows] == [62 * gradient_bytes, 32 * 31 * gradient_bytes] and 32 * 31 == 16 * 62
assert [row[2:4] for row in rows] == [(31 * gradient_bytes,) * 2] * 2
assert isclose(rows[0][4], bars["central"]) and isclose(rows[1][4], plan_seconds(31, 31))
for p in (2, 3, 5, 6, 7, 8):
    assert is_simulated(plan_seconds(p - 1, p - 1), ours.direct_all_reduce, p)
    assert is_simulated(2 * plan_seconds(p - 1, p - 1), ours.central_all_reduce, p)

# after ring-first-picture
for p in (2, 3, 4, 5):
    assert ours.ring_steps(p)[0] == [ours.Send(r, (r + 1) % p, (r - 1) % p) for r in range(p)]
    arrived = [{send.dst: send.chunk for send in step} for step in ours.ring_steps(p)[: p - 1]]
    for now, before in zip(ours.ring_steps(p)[1 : p - 1], arrived, strict=False):
        assert all(send.chunk == before[send.src] for send in now)  # what it has just added to
    assert arrived[-1] == {rank: rank for rank in range(p)}

# after ring-second-picture
assert story.steps == 2 * 3 and story.complete

# after telling
assert all((numbers == sum(10**rank for rank in range(world_size))).all() for numbers in found)


def wrong_place(comm, numbers):
    """A ring that leaves each chunk one place too far to the left."""
    ours.ring_all_reduce(comm, numbers)
    numbers.copy_(numbers.roll(-numbers.numel() // comm.world_size))


def left_for_right(comm, numbers):
    """A first circle that takes the chunk of the right neighbor for that of the left one, from its first step on."""
    chunks, p = numbers.tensor_split(comm.world_size), comm.world_size
    for step in range(p - 1):
        mine = chunks[(comm.rank - step) % p]
        sent = comm.isend(chunks[(comm.rank - 1 - step) % p].clone(), (comm.rank + 1) % p)
        arrived = torch.empty_like(mine)
        comm.recv(arrived, (comm.rank - 1) % p)
        mine += arrived
        sent.wait()
    ours.all_gather(comm, chunks, chunks[comm.rank].clone())


def passes(all_reduce, ranks, of_rank):
    """Whether every rank ends with the sum of what of_rank gives each of them."""

    def program(comm):
        numbers = of_rank(comm.rank)
        all_reduce(comm, numbers)
        return numbers

    right = sum(of_rank(rank) for rank in range(ranks))
    return all(torch.equal(numbers, right) for numbers in simulate(program, ranks).results)


def alike(rank):
    return torch.full((60,), 10.0**rank)


def random(rank):
    return torch.randint(99, (60,), generator=torch.Generator().manual_seed(rank)).float()


for p in (2, 3, 5):
    assert passes(ours.ring_all_reduce, p, alike) and passes(ours.ring_all_reduce, p, random)
    assert passes(wrong_place, p, alike) and not passes(wrong_place, p, random)
    assert passes(left_for_right, p, random) == (p == 2)
assert sum(10**rank for rank in range(4)) == 1111 and sum(10**rank for rank in (0, 1, 3)) == 1011

# after ring-table
assert [row[1] for row in rows] == [2, 14, 62, 2046] and rows[0][2] == 1e8 and 1.99e8 < rows[-1][2] < 2e8
for p in (2, 4, 5, 8, 32):
    assert is_simulated(plan_seconds(2 * (p - 1), 2 * (p - 1) / p), ours.ring_all_reduce, p)
    assert max(ours.ring_all_reduce_cost(8_064_000, world_size=p).bytes_sent) == 2 * 8_064_000 * (p - 1) / p
for p in (2, 3, 5, 8, 64):  # the bound
    costs = [cost(8_064_000, world_size=p) for cost in ours.ALL_REDUCE_COSTS.values()]
    assert min(max(cost.bytes_sent) for cost in costs) >= 2 * 8_064_000 * (p - 1) / p - 4 * p

# after bars-ring
from dataclasses import replace

assert round(1000 * bars["ring"]) == 32 and round(1000 * bars["direct"]) == 496
adds = replace(links, reduce_s_per_byte=1 / links.bytes_per_s)
slower = ours.ring_all_reduce_seconds(gradient_bytes, 32, adds) / bars["ring"]
assert 1.45 < slower < 1.5

# after bars-many
assert round(1000 * bars["ring, 161 tensors"]) == 131 and 161 * 62 == 9982 and 53 + 2 * 53 + 2 == 161
assert 3.9 < bars["ring, 161 tensors"] / bars["ring"] < 4.2  # three quarters of it are latency
on_the_line_s = (0.125 - 62 / 32 * 0.016) / 9982
assert round(1e6 * on_the_line_s, 1) == 9.4 and round(1000 * (62 / 32 * 0.016 + 9982 * 5e-6)) == 81
assert is_simulated(bars["ring"], ours.ring_all_reduce, 32)
uneven = [2_000, 70_000, 900_000]  # bytes of three tensors: the sizes do not matter
times = [float(ours.ring_all_reduce_seconds(size, 32, links)) for size in uneven]
assert isclose(sum(times), 3 * 62 * 1e-5 + 62 / 32 * sum(uneven) / links.bytes_per_s)

# after tree-or-ring
assert round(1000 * bars["tree, 161 tensors"]) == 176 and round(161 * 10 * 0.01) == 16 and 10 * 16 == 160
assert is_simulated(plan_seconds(10, 10), ours.tree_all_reduce, 32)

# after halving-picture
assert story.steps == 4 and story.complete

# after halving-run
assert all((numbers == 1111).all() for numbers in found)
for p in (1, 2, 4, 8):
    results = simulate(on_telling_numbers, p, args=(halving_doubling,)).results
    assert all((numbers == sum(10**rank for rank in range(p))).all() for numbers in results)
count = simulate(halving_doubling, 32, args=(torch.empty(25_600, device="meta"),), network=links)
assert count.trace.steps == 10 and set(count.trace.bytes_sent) == {2 * 102_400 * 31 // 32}
assert isclose(count.seconds, 10 * 1e-5 + 62 / 32 * 102_400 / 6.25e9)
try:
    simulate(on_telling_numbers, 3, args=(halving_doubling,))
    ended = True
except Exception as error:
    ended = "ValueError" not in str(error)
assert not ended

# after bars-halving
assert round(1000 * bars["recursive doubling, 161 tensors"]) == 88
assert round(1000 * bars["halving-doubling, 161 tensors"]) == 47
assert round(bars["ring, 161 tensors"] / bars["halving-doubling, 161 tensors"], 1) == 2.8
assert goyal.halving_doubling_speedup == 3 and round(1e6 * goyal.inferred_latency_s(161)) == 12
assert is_simulated(plan_seconds(5, 5), ours.recursive_doubling_all_reduce, 32)
assert is_simulated(plan_seconds(10, 62 / 32), ours.halving_doubling_all_reduce, 32)

# after bars-buckets
assert [round(1000 * bars[f"{plan}, four buckets"]) for plan in ("ring", "halving-doubling")] == [33, 31]

# after servers
in_ms = [[round(1000 * seconds) for seconds in row[1:]] for row in rows]
assert in_ms == [[33, 31], [35, 63], [114, 33]] and 4 * 2046 == 8184 and 44 - 32 == 12
assert isclose(rows[1][2] - rows[0][2], 2 * plan_seconds(1, 1, 4), rel_tol=1e-9)
by_formula_s = float(ALL_REDUCE_SECONDS["halving-doubling"](25_600_000, 44, links))
assert is_simulated(by_formula_s, ours.halving_doubling_all_reduce, 44, 25_600_000)

# after map-draw
tiny = [float(ALL_REDUCE_SECONDS[plan](100, 32, links)) for plan in ("recursive doubling", "direct")]
assert [round(1e6 * seconds) for seconds in tiny] == [50, 310] and isclose(1e-5 * 6.25e9, 62_500)
everywhere = {name for row in winners.names for name in row}
assert everywhere == {"direct", "recursive doubling", "halving-doubling", "ring"}
by_ranks = dict(zip(machines, winners.names, strict=True))
assert all(row[:8] == ("recursive doubling",) * 8 for ranks, row in by_ranks.items() if ranks > 3)  # up to 20 kB
assert all(row[-1] == "halving-doubling" for ranks, row in by_ranks.items() if ranks in (4, 8, 16, 32, 64, 256, 1024))
assert all(by_ranks[ranks][-1] == "ring" for ranks in (3, 6, 24, 44, 768))
assert by_ranks[768][sizes.index(20_000_000)] == "halving-doubling" and by_ranks[44][sizes.index(20_000_000)] == "ring"
assert all("direct" not in row for ranks, row in by_ranks.items() if ranks > 3)
assert by_ranks[3][sizes.index(50_000)] == "direct" and "direct" not in by_ranks[3][sizes.index(200_000) :]
assert [round(p * 0.0625, 2) for p in (12, 44, 768)] == [0.75, 2.75, 48]


def ring_is_ahead(ranks, size):
    """Of halving-doubling."""
    return ALL_REDUCE_SECONDS["ring"](size, ranks, links) < ALL_REDUCE_SECONDS["halving-doubling"](size, ranks, links)


assert not ring_is_ahead(12, 450_000) and ring_is_ahead(12, 470_000)
for p in (12, 24, 44, 48, 96, 200, 320, 768, 1000):  # the rule of thumb, and that it is none for powers of two
    assert not ring_is_ahead(p, 0.6 * p * 62_500) and ring_is_ahead(p, p * 62_500)
assert not any(ring_is_ahead(p, 10 * p * 62_500) for p in (4, 8, 32, 1024))

# after numbering
assert [row[2] for row in rows] == [1, 8] and [round(1000 * row[3]) for row in rows] == [52, 418]


# after bars-last
def one_voice(comm, numbers):
    """The three phases on servers of eight, with a ring of their leaders."""
    first = comm.rank // 8 * 8
    server = comm.group(range(first, first + 8))
    ours.reduce(server, numbers, 0)
    if comm.rank == first:
        ours.ring_all_reduce(comm.group(range(0, comm.world_size, 8)), numbers)
    ours.broadcast(server, numbers, 0)


def in_turn(comm, numbers):
    """A ring in which the right neighbor of every GPU is in another server."""
    servers = comm.world_size // 8
    ours.ring_all_reduce(comm.group([8 * (i % servers) + i // servers for i in range(comm.world_size)]), numbers)


from course_lib import Link

eight = Network(latency_s=5e-6, bytes_per_s=80e9, ranks_per_node=8, outside=Link(10e-6, 6.25e9))
last = {name.removeprefix("256 GPUs, "): seconds for name, seconds in bars.items() if name.startswith("256")}
assert [round(1000 * seconds) for seconds in last.values()] == [418, 52, 41] and round(1000 * inside_s) == 8
assert 0.3 < last["one voice for each server"] / 0.125 < 0.34
one_bucket_s = 6 * (5e-6 + 25_600_000 / 80e9) + 62 * 1e-5 + 62 / 32 * 25_600_000 / 6.25e9  # what 32 divides
assert is_simulated(one_bucket_s, one_voice, 256, 25_600_000, eight)
for plan, leaving in ((in_turn, 8), (ours.ring_all_reduce, 1)):  # 64 of the GPUs: 256 take half a minute
    expected_s = leaving * (126 * 1e-5 + 126 / 64 * 25_600_000 / 6.25e9)
    assert is_simulated(expected_s, plan, 64, 25_600_000, eight)
leaders = {s: 4 * float(ALL_REDUCE_SECONDS["halving-doubling"](25_000_000, s, links)) + inside_s for s in (32, 44)}
assert [round(1000 * seconds) for seconds in leaders.values()] == [39, 71]
assert round(1000 * (inside_s + 4 * float(ALL_REDUCE_SECONDS["ring"](25_000_000, 44, links)))) == 42
assert round(1000 * (4 * 6 * (5e-6 + 25_000_000 / 20e9) + bars["ring, four buckets"])) == 64

# after explorer
from course_lib.widgets.all_reduce import AllReduceModel, Wires

ring_ms = {k: 1000 * k * float(ALL_REDUCE_SECONDS["ring"](100_000_000 / k, 32, links)) for k in (14, 15, 16)}
assert [round(ms, 1) for ms in ring_ms.values()] == [39.7, 40.3, 40.9]
fastest = AllReduceModel().fastest
assert fastest(32, 25_000_000, Wires(1e-5, 6.25e9))[0] == "halving-doubling"
assert all(fastest(44, 100_000_000 // k, Wires(1e-5, 6.25e9))[0] == "ring" for k in (4, 14, 16))

# The answers of "Check yourself".
sent = ours.ring_all_reduce_cost(10_000_000, world_size=5)
assert sent.steps == 8 and sent.bytes_sent == (16_000_000,) * 5
short = {plan: float(ALL_REDUCE_SECONDS[plan](400, 16, links)) for plan in ("ring", "recursive doubling")}
assert [round(1e6 * seconds) for seconds in short.values()] == [300, 40]
grown = [float(ALL_REDUCE_SECONDS["halving-doubling"](25_000_000, servers, links)) for servers in (32, 48)]
assert 1.9 < grown[1] / grown[0] < 2.1 and 48 - 32 == 16
