"""What the page '00 · Orientation' says, asserted: a block behind each cell that shows it."""

# after imports
assert 4 * 10**9 / (25e9 / 8) == 1.28 and 4e9 / 50e9 == 0.08 and 4e9 / 0.125e9 == 32
assert round(4 / 450, 3) == 0.009 and 900 / 2 == 450  # NVLink 4, one direction
assert 16 * 175e9 == 2.8e12 and 16 * 10**9 == 16e9 < 80e9

# after sum
assert torch.allclose(halves, whole, atol=1e-7)
assert sum(parameter.nbytes for parameter in new_model().parameters()) == 4 * whole.numel()
optimizer = torch.optim.Adam((claimed := new_model()).parameters())
cross_entropy(claimed(images), labels).backward()
optimizer.step()
held = sum(sum(tensor.nbytes for tensor in (p, p.grad, optimizer.state[p]["exp_avg"])) for p in claimed.parameters())
assert held + sum(optimizer.state[p]["exp_avg_sq"].nbytes for p in claimed.parameters()) == 16 * whole.numel()

# after hello
assert report.results == [10 * rank for rank in range(world_size)]
assert len({os.getpid(), *run(lambda comm: os.getpid(), world_size).results}) == world_size + 1

# after alone-run
assert len(set(report.results)) == 1
assert report.trace.total_bytes == 0

# after note
assert report.results == [[0, 0, 0], [1, 2, 3]]
assert report.trace.bytes_sent[0] == 3 * 4 and len(report.trace.messages) == 1

# after ring
from course_lib import DeadlockError

try:
    run(pass_on, ring_size)
    stopped = None
except DeadlockError as error:
    stopped = error
assert str(stopped).splitlines()[-1].count("->") == ring_size
assert str(stopped).count("waits in send") == ring_size == str(stopped).count("comm.send(mine, dst=right)")

# after isend
assert run(pass_on_safely, ring_size).results == [(rank - 1) % ring_size for rank in range(ring_size)]

# after shared
assert all(torch.equal(gradient, report.results[0]) for gradient in report.results)
assert max(differences) < 1e-7
assert all(report.trace.bytes_sent[rank] == 4 * whole.numel() for rank in range(1, world_size))


# after fewer
import torch.distributed as dist


def uneven_with_dist(comm):
    group = dist.new_group(backend="gloo")
    try:
        for _ in range(2 if comm.rank == 1 else 3):
            dist.all_reduce(torch.ones(1), group=group)
    except RuntimeError as error:
        return str(error)
    dist.destroy_process_group(group)  # as where rank 1's process ends


told = run(uneven_with_dist, world_size=3, timeout_s=10).results
assert told[1] is None and "peer" in told[0] and "peer" in told[2]
try:
    run(uneven_batches, world_size=3)
    left = None
except DeadlockError as error:
    left = str(error)
assert "rank 0 waits in recv from 1" in left and "rank 2 waits in send to 0" in left
assert "finished already: rank 1" in left

# after ping-run clock
assert rows[-1][1] > rows[0][1] > 0

# after machines
assert f"{eight.seconds:.1f}" == "20.4" and f"{eight.seconds - 2.5:.1f}" == "17.9"
assert len(eight.trace.messages) == 14 and eight.trace.bytes_sent[0] == eight.trace.bytes_received[0] == 7 * 4e9
assert {rank: eight.trace.bytes_sent[rank] for rank in range(1, 8)} == dict.fromkeys(range(1, 8), 4e9)

# after best
assert min(rows, key=lambda row: row[-1])[0] == 3 and f"{rows[2][-1]:.1f}" == "11.8"
assert all(abs(whole_s - (20 / p + 2 * (p - 1) * (50e-6 + 1.28))) < 1e-9 for p, _, _, whole_s in rows)
later = [20 / p + 2 * (p - 1) * (50e-6 + 1.28) for p in range(3, 1025)]
assert later == sorted(later) and 2 * 1.28 > 20 / 3 - 20 / 4

# after faster
assert f"{simulate(one_step, 64, network=infiniband).seconds:.1f}" == "10.4" and 2 * 63 == 126
assert 126 * 50e-6 < 0.01

# after bars-last
shown = [f"{sum(bars[name]):.1f}" for name in bars]
assert shown == ["20.0", "20.0", "20.4", "4.7", "3.2", "2.6"]
assert all(sent < 8e9 for sent in even.trace.bytes_sent) and 2 * 1023 / 1024 * 4e9 < 8e9
assert f"{simulate(step_evenly, 64, network=infiniband).seconds:.1f}" == "0.5"


# after explorer
def shown_s(machines, gigabits, plan, number_bytes):
    return 20 / machines + seconds_of_messages(machines, gigabits, plan, number_bytes)


assert abs(shown_s(8, 25, "through rank 0", 4) - eight.seconds) < 1e-9
assert abs(shown_s(8, 25, "through all cables", 4) - even.seconds) < 1e-9
assert f"{shown_s(8, 25, 'through all cables', 2):.1f}" == f"{shown_s(8, 400, 'through rank 0', 4):.1f}" == "3.6"
assert min(shown_s(8, rate, "through rank 0", count) for rate in (1, 10, 25, 100) for count in (2, 4)) > 4
assert shown_s(8, 25, "through all cables", 4) > 4
assert f"{shown_s(1024, 25, 'through all cables', 4):.1f}" == "2.7" and f"{20 / 1024:.2f}" == "0.02"
slowed = [simulate(one_step, 8, network=Network(50e-6, 25e9 / 8, stragglers={slow: 2})).seconds for slow in (0, 2)]
assert [f"{seconds:.1f}" for seconds in slowed] == ["40.8", "24.2"] and abs(slowed[0] / eight.seconds - 2) < 1e-9
assert round(100 * (50e-6 + 1e-6), 6) == 5.1e-3 and round(50e-6 + 100e-6, 6) == 0.15e-3 and 16 * 3 == 48
