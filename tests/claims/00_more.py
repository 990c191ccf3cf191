"""What the page '00 · More for orientation' says, asserted: a block behind each cell that shows it."""

# after scales-simulated
one_message_s = network.seconds(0, 1, 4_000_000)
assert all(abs(report.seconds / (2 * (p - 1) * one_message_s) - 1) < 1e-9 for p, report in sums.items())
assert all(4 < sums[4 * p].seconds / sums[p].seconds < 5.001 for p in (4, 16, 64, 256))

# after scales-real
assert all(torch.equal(result, world_size * ones) for report in runs.values() for result in report.results)

# after scales-real clock
assert runs["slow links, emulated"].seconds > 0.9 * runs["slow links, simulated"].seconds

# after dist-gradient
assert all(torch.allclose(gradient, whole, atol=1e-7) for gradient in report.results)
assert report.trace.total_bytes == 0

# after disagree-dist
assert 0 < run(disagree, world_size=2).results[1] < 1e-44

# after disagree-comm
assert "int32" in str(refused) and "float32" in str(refused) and str(refused).count("line ") == 2

# after mixed
assert "torch.distributed's own functions" in str(met)

# after threads
assert run(lambda comm: torch.get_num_threads(), 2).results == [1, 1]

# after threads clock
assert min(min(counts) for counts in rows.values()) > 0

# after activations-table
assert all(abs(kept[2 * batch] / kept[batch] - 2) < 0.001 for batch in (400, 800))

# after mixed-precision
assert sum(bars["7.5 billion"].values()) == 120e9  # published by Rajbhandari et al. 2019
assert bars["7.5 billion"]["parameters"] == 15e9 and sum(mixed_precision_states(5e9).values()) == 80e9

# after memory-explorer
assert sum(mixed_precision_states(175e9).values()) == 2.8e12 == 35 * 80e9

# after count
assert per_weight["forward"] == 2
assert 3.5 < per_weight["backward"] < 4
assert abs(per_weight["backward"] - (4 - 2 * 64 * 256 / weights)) < 1e-9  # but for the first layer's input

# after years
assert abs(operations / 3.14e23 - 1) < 0.01  # Brown et al. 2020, table D.1
assert round(years) == 32

# after days
assert round(days) == 34  # published
assert 455 < peak_years * 365 / days < 465

# after fit-line clock
assert slope > 0

# after fit-test clock
assert min(predicted_s, seen_s) > 0

# after fit-simulated
assert off < 1e-9


# after straggling
def finished_s(report, rank):
    return max(span.end_s for span in report.trace.spans if span.rank == rank)


assert all(finished_s(slow_step, rank) > finished_s(even, rank) + 1.9e-3 for rank in range(4))  # 2 ms late, like rank 2

# after waiting
assert sorted(range(4), key=lambda rank: trace.waiting_s[rank])[:2] == [2, 0]
assert format_seconds(trace.waiting_s[2]) == "1.1 ms"

# after slow-machines
assert [f"{seconds:.1f}" for seconds in rows.values()] == ["20.4", "24.2", "40.8"]
