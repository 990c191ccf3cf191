"""What the second page of chapter 03 says, as asserts: each block runs behind the cell that its head names."""

# after border
import math

assert all(below.startswith("loss 0.") and above == "explodes" for *_, below, above in rows)
assert len(task.initial(seed)) == 650
if seed == 0:
    assert round(bowl.loss(bowl.initial(0), digits.train_inputs, digits.train_labels), 2) == 1.84

# after remedies
assert [loss == "explodes" for _, loss, _ in rows] == [True, False, False, True, False]
assert abs(float(rows[1][1]) / float(rows[4][1]) - 1) < 0.03 and rows[2][2] > 0.95 > rows[1][2] > 0.8
assert alpha > 0.99 * largest_stable_rate(steepest, staleness=1)
assert all(alpha > 1.2 * largest_stable_rate(steepest, staleness=age) for age in range(2, 6))
assert all(alpha / age < 1.001 * largest_stable_rate(steepest, staleness=age) for age in range(1, 100))

# after remedies-slow
assert all(constant < by_age < 1.1 * constant for _, by_age, constant in rows)

# after load
assert all(abs(counted / expected - 1) < 0.001 for _, expected, counted, *_ in rows)
assert rows[3][1] == 4e6  # as many servers as workers: P
assert measure_load(Topology(8, servers=16)).seconds_per_update > rows[3][-1]  # more servers buy nothing
for workers in (4, 16):
    assert abs(measure_load(Topology(workers, workers)).busiest_server_bytes / 4e6 - 1) < 0.01

# after all-to-all
assert all(abs(sum(row) / ring - 1) < 0.001 for row in table)
assert len({round(link) for row in table for link in row if link}) == 1

# after vgg-shares
assert sum(lengths) == 138_357_544 and round(max(lengths) / sum(lengths), 2) == 0.74 and len(lengths) == 32
assert all(max(row[1:]) >= max(lengths) / sum(lengths) for row in rows[:2])
assert max(rows[2][1:]) - min(rows[2][1:]) < 1e-6
flat, top = (measure_load(shape).busiest_server_bytes for shape in (Topology(16), Topology(16, aggregators=4)))
assert abs(flat / top - 4) < 0.01
carried = [ps.copies_bytes(4_000_000, workers=16, servers=copies) / 1e6 for copies in (1, 4)]
assert [round(each) for each in carried] == [64, 22]

# after torn-cell
assert 0.05 < rows[0][2] / rows[0][1] < 0.2 and rows[1][2] == 0
four = torn_reads_across_shards(servers=4)
assert 0.18 < four.torn / four.reads < 0.32

# after actor-hand
assert [row[1] for row in rows] == ["–", "–", "1 gets 3", "2 gets 3"] and server.version == 1

# after kill-run
assert trial.kills == kills and trial.lost == trial.duplicated == 0
assert trial.exact  # the parameters are the sum of exactly what was applied
assert all(audit.missing == 0 for audit in trial.audits)  # nor at the death of any server

# after no-log
assert rows[1][3] == 0 and rows[0][3] <= 8 * 40

# after no-log clock
assert rows[0][3] > 0

# after death-run
assert rows == [("yes", 1), ("no", 2)]

# after rpc-run
assert world_size == 1 or loss_of(report.results[0]) < loss_of(task.initial())

# after downpour-n
sent_by, ages, losses = ({row[:2]: row[place] for row in rows} for place in (2, 3, 4))
assert sent_by[4, 4] < 0.3 * sent_by[1, 1] and min(losses, key=losses.get) == (1, 1)
assert ages[4, 1] > 2 * ages[1, 1]

# after adagrad
peaks = {row[0]: row[1] for row in rows}
above = {row[0]: row[2] for row in rows}
assert 2 * above["Adagrad"] < above["SGD"] and 0.7 < peaks["Adagrad"] / peaks["SGD"] < 1.3
assert peaks["Adagrad, warm start"] < peaks["Adagrad"] / 1.3
assert rows[3][4] > 1.5 * rows[2][4]  # seven wait

# after corners-run
even, slow = zip(*pairs, strict=True)
assert math.isclose(even[0].loss, even[2].loss, rel_tol=0.03)  # a synchronous server and a ring, to a round
assert 0.15 < even[2].busiest_bytes / even[0].busiest_bytes < 0.25
assert slow[0].loss > 1.5 * even[0].loss and math.isclose(slow[0].loss, slow[2].loss, rel_tol=0.03)
assert all(slow[way].loss < 1.2 * even[way].loss for way in (1, 3))
assert even[3].busiest_bytes < even[1].busiest_bytes / 3  # gossip spreads the load
