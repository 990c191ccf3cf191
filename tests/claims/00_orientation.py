"""What the page '00 · Orientation' says, asserted: a block behind each cell that shows it."""

# after why-2
assert billion_bytes == 4e9

# after why-4
assert sizes["GPT-3"]["parameters"] == 700e9
assert -(-sizes["GPT-3"]["parameters"] // 80e9) == 9 and sizes["GPT-2"]["parameters"] < 80e9 / 10

# after compute-wall-2
assert abs(flop / 3.14e23 - 1) < 0.01  # Brown et al. 2020, table D.1

# after compute-wall-4
assert round(days) == 34  # published
assert round(years * 8 / 6) == 43  # at the peak, with the 8

# after step-10
assert losses[-1] < 0.75 * losses[0]

# after step-12
assert per_weight["forward"] == 2
assert 3.5 < per_weight["backward"] < 4
assert abs(per_weight["backward"] - (4 - 2 * 64 * 256 / weights)) < 1e-9  # but for the first layer's input

# after memory-wall-2
assert sum(state_bytes.values()) == 16 * parameter_count

# after memory-wall-4
assert sum(bars["7.5 billion"].values()) == 120e9  # published by Rajbhandari et al. 2019

# after memory-wall-8
assert all(abs(kept[2 * batch] / kept[batch] - 2) < 0.001 for batch in (400, 800))
assert kept[800] > 16 * parameter_count
assert all(round(kept[batch] / (batch * (64 * 4 + 8))) == 9 for batch in kept)  # images of fp32, labels of 8 bytes

# after memory-wall-12
assert gpt3_bytes == 35 * 80e9

# after comm-wall-2
assert transfer["400 Gbit/s InfiniBand"] == 0.08
assert links["NVLink 4"] == 9 * links["400 Gbit/s InfiniBand"] == 3600 * links["1 Gbit/s Ethernet"]
assert transfer["1 Gbit/s Ethernet"] == 32

# after comm-wall-4
waiting = 1 - 20 / 8 / step_seconds(8, links["25 Gbit/s Ethernet"])  # share of the step, 8 devices
assert 0.45 < waiting < 0.5
slowest = links["1 Gbit/s Ethernet"]
assert min(step_seconds(p, slowest) for p in ranks[1:]) > step_seconds(1, slowest)
assert round(step_seconds(2, slowest)) == 42
assert all(20 / 10**6 / step_seconds(10**6, rate) < 0.01 for rate in links.values())  # messages are left

# after hello-2
assert len({os.getpid(), *report.results}) == world_size + 1

# after alone-1
assert len(set(report.results)) == 1
assert report.trace.total_bytes == 0

# after threads
assert run(lambda comm: torch.get_num_threads(), 2).results == [1, 1]

# after threads clock
assert min(min(counts) for counts in rows.values()) > 0

# after send-2
assert report.results == [[0, 0, 0], [1, 2, 3]]

# after send-4
assert len(report.trace.messages) == 1 and message.message_bytes == 3 * 4

# after deadlock-4
from course_lib import DeadlockError

assert isinstance(stopped, DeadlockError)
assert str(stopped).splitlines()[-1].count("->") == ring_size

# after deadlock-6
assert isinstance(stopped, DeadlockError)
assert str(stopped).splitlines()[-1].count("->") == ring_size

# after deadlock-8
assert report.results == [(rank - 1) % ring_size for rank in range(ring_size)]

# after mismatch-1
assert 0 < report.results[1] < 1e-44

# after mismatch-3
assert "int32" in str(refused) and "float32" in str(refused) and str(refused).count("line ") == 2

# after share-3
assert all(torch.equal(shared, report.results[0]) for shared in report.results)
assert torch.allclose(report.results[0], alone, atol=1e-6)

# after share-5
assert report.trace.total_bytes == 2 * (world_size - 1) * gradient_bytes
assert report.trace.bytes_sent[0] == (world_size - 1) * gradient_bytes
assert report.trace.bytes_sent[0] == sum(report.trace.bytes_sent[1:])


# after fewer
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
assert "rank 0 waits in recv from 1" in str(stopped) and "finished already: rank 1" in str(stopped)

# after dist-2
assert with_comm.results == with_dist.results
assert len(with_comm.trace.messages) == ring_size and not with_dist.trace.messages

# after dist-mixed
assert "torch.distributed's own functions" in str(refused)

# after dist-4
assert all(ours == theirs == expected for ours, theirs in report.results)

# after alpha-4 clock
assert measured_s[-1] > measured_s[0] > 0

# after alpha-6 clock
assert beta_s_per_byte > 0

# after alpha-8 clock
assert min(predicted_s, seen_s) > 0

# after alpha-10
assert np.allclose(simulated_s, [this_machine.seconds(0, 1, size) for size in sizes], rtol=1e-9)

# after scales-2
one_message_s = network.seconds(0, 1, 4_000_000)
assert all(abs(report.seconds / (2 * (p - 1) * one_message_s) - 1) < 1e-9 for p, report in sums.items())

# after scales-4
assert all(torch.equal(result, world_size * ones) for report in runs.values() for result in report.results)

# after scales-4 clock
assert runs["slow links, emulated"].seconds > 0.9 * runs["slow links, simulated"].seconds


# after timeline-3
def finished_s(report, rank):
    return max(span.end_s for span in report.trace.spans if span.rank == rank)


assert all(finished_s(slow_step, rank) > finished_s(even, rank) + 1.9e-3 for rank in range(4))  # 2 ms late, like rank 2
even_s = [finished_s(even, rank) for rank in range(4)]
assert even_s[1] < even_s[2] < even_s[3] == even_s[0] == even.seconds

# after timeline-5
assert trace.steps == 6  # the longest chain of messages of which each needs the one before: 3 in, 3 out

# after explore-answers
assert turns == [2, 3]
assert abs(slow_root_s / even.seconds - 2) < 1e-9

# after check-answers
assert round(one_s, 6) == 0.15e-3
assert set(trace.bytes_received[1:]) == set(trace.bytes_sent[1:]) == {1000}

# after tool-2
assert all(torch.allclose(gradient, alone, atol=1e-6) for gradient in report.results)
