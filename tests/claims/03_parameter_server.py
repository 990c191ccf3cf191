"""What the page '03 · Parameter servers and staleness' says, asserted: a block behind each cell that shows it."""

# after stakes
assert round(1 - nobody_slow[100], 2) == 0.63

# after own-run
assert world_size == 1 or after < before  # one rank alone is a server without a worker
assert len(data.train_labels) == 1437 and len(task.initial(seed)) == 650

# after own-timeline
assert others_end_s < 0.5 < 1.6 < slow_one.seconds
assert pushed_by.index(1) == 6  # six pushes of the others came before the first of rank 1

# after actor-hand
assert rows[-2] == ("push of worker 2", "1: 3") and server.version == 1

# after equal-updates
assert at_end["asynchronous"] < at_end["2-softsync"] < at_end["synchronous"]
assert max(after_50.values()) < 1.3 * min(after_50.values())
assert math.isclose(at_end["stale-synchronous, slack 2"], at_end["asynchronous"], rel_tol=0.05)
made = {name: (history.updates[-1], history.gradients[-1]) for name, history in equal.items()}
assert made["asynchronous"][0] > 8 * made["synchronous"][0]
assert made["stale-synchronous, slack 2"][1] > 0.97 * made["asynchronous"][1]

# after rates-apart
assert apart[0.1][2] > 0.95 and apart[0.1][3] < 1.05
assert apart[0.2][3] < 1.6 < apart[0.3][3]
assert apart[0.5][2] > 4
assert apart[0.5][1] < apart[0.3][1] < apart[0.2][1]  # fresh gradients gain from a larger rate
for crowd in (4, 16):
    for draw in (seed, seed + 1):
        late, fresh = late_and_fresh(crowd, 1 / (crowd - 1), draw)
        assert 0.95 < late / fresh < 1.15

# after straggler
assert max(reached.values()) < 1.2 * min(reached.values())

# after straggler-table
assert kept["synchronous"] < 0.33
left = (workers - 1 + 1 / 4) / workers
assert all(abs(kept[name] - left) < 0.01 for name in ("2-softsync", "asynchronous"))
dropped = straggling["synchronous, 1 backup"]
ended = [span.rank for span in dropped.trace.spans if span.end_s < dropped.time_s[-1]]
assert abs(len(dropped.dropped) - ended.count(1)) <= 1  # worker 0 is rank 1: all of its gradients come too late

# after straggler-beginnings
synchronous, bounded, asynchronous = (straggling[name].busy_share for name in shown)
assert asynchronous > 0.95 > 0.4 > bounded > synchronous

# after backup-cell
from itertools import pairwise

took = [[takes for takes, *_ in found[backup]] for backup in range(4)]
saved = [[a - b for a, b in zip(*pair, strict=True)] for pair in pairwise(took)]
assert all(0 < third < first > second for first, second, third in zip(*saved, strict=True))  # in each of five seeds
assert sum(saved[0]) > 1.2 * sum(saved[1]) > 1.2 * sum(saved[2])
assert all(dropped == 0 for _, dropped, _ in found[0]) and all(dropped for _, dropped, _ in found[1])
assert max(row[2] for row in rows.values()) < 1.05 * min(row[2] for row in rows.values())
assert sum(saved[0]) + sum(saved[1]) > 0.75 * sum(map(sum, saved))  # most of the gain

# after ages-picture
both = [*equal.values(), *straggling.values()]
fresh = [max(history.staleness) == 0 for history in both]
assert fresh == [history.policy.startswith("synchronous") for history in both]
oldest = {name: max(history.staleness) for name, history in straggling.items()}
assert 2 * max(equal["asynchronous"].staleness) < oldest["asynchronous"]
assert oldest["asynchronous"] > oldest["stale-synchronous, slack 2"]
for name in ("2-softsync", "asynchronous"):
    slow_ends = sum(span.rank == 1 and span.end_s < 6 for span in straggling[name].trace.spans)
    assert abs(sum(tau > max(equal[name].staleness) for tau in straggling[name].staleness) - slow_ends) <= 2  # the hump

# after zhang-table
assert all(abs(mean - expected) < 0.02 * expected for _, mean, expected, *_ in rows.values())
assert all(over < 1e-4 for *_, over, _ in rows.values())
assert set(soft[1].counts) == {0, 1, 2}

# after conservation-cell
assert abs(even.mean / expected - 1) < 0.01 and abs(uneven.mean / expected - 1) < 0.01
assert max(uneven.counts) > 3 * max(even.counts)

# after slack-table
assert all(lead <= slack and oldest <= bound for slack, (*_, lead, oldest, bound) in rows.items())
slow, stalled = zip(*(row[:2] for row in rows.values()), strict=True)
assert slow[2] / slow[3] < 0.6 < stalled[2] / stalled[3]  # slack 8
assert stalled[2] > 1.5 * stalled[0]

# after bowl
assert all(below.startswith("loss 0.") and above == "explodes" for *_, below, above in rows)

# after diverge
alone, eight, saved = (history.loss[-1] for history in trained.values())
assert eight > 1e6 and saved < 2.5 * alone
assert all(comfortable / tau < 1.001 * largest_stable_rate(steepest, staleness=tau) for tau in range(1, 100))

# after remedies
assert [row[0] == "diverges" for row in rows.values()] == [True, False, False, True]
quick = {"points": 1, **settings, "updates": 30}
ssp, synchronous = (train(policy, **quick).loss[-1] for policy in (ps.stale_synchronous(2), ps.synchronous(workers)))
assert synchronous < 1 < 100 < ssp
assert comfortable > 0.99 * largest_stable_rate(steepest, staleness=1)

# after fair
assert all(fair[policy.name][1] > first_rate(policy) for policy in policies)  # a tried rate on each side

# after fair-table
saved = fair["synchronous, 1 backup"][0]
assert saved < fair["synchronous"][0] / 2
assert saved < 1.5 * fair["synchronous, all equal"][0]
assert fair["synchronous"][0] - saved > (fair["synchronous"][0] - fair["asynchronous"][0]) / 2

# after load
assert all(abs(carried[servers] / rows[servers][0] - 1) < 0.001 for servers in rows)
rounds = {servers: round_s / one_way_s for servers, (*_, one_way_s, round_s) in rows.items()}
assert [round(rounds[servers], 1) for servers in (1, 8)] == [1.1, 2.2]
assert measure_load(Topology(8, servers=16)).seconds_per_update > rows[8][-1]  # more servers buy nothing

# after load-picture
as_many = [loads[crowd][counts.index(crowd)] for crowd in loads]  # servers as workers
assert all(abs(load / 4e6 - 1) < 0.01 for load in as_many)

# after all-to-all
assert len({round(link) for row in table for link in row if link}) == 1  # all links carry the same
assert all(abs(machine / ring - 1) < 0.001 for machine in sent)

# after vgg
assert sum(lengths) == 138_357_544 and round(max(lengths) / sum(lengths), 2) == 0.74
assert len(lengths) == 32

# after vgg-shares
assert max(shares["even"]) - min(shares["even"]) < 1e-6
assert min(max(shares[rule]) for rule in ("tensor", "size")) >= max(lengths) / sum(lengths)

# after tree
assert abs(carried[0] / carried[1] - 4) < 0.01
for aggregators in (2, 8):
    top = measure_load(Topology(workers=16, aggregators=aggregators)).busiest_server_bytes
    assert abs(carried[0] / top - 16 / aggregators) < 0.01

# after copies-run
assert all(word == "yes" for word, _ in carries.values())  # to the last bit
assert all(torch.allclose(copy[0], alone, atol=1e-6) for copy in rows.values())

# after torn-cell
assert len(set(across.example)) == 2
assert 0.18 < torn_reads_across_shards(servers=4).torn / across.reads < 0.3
assert cured.torn == 0 and 0.05 < across.torn / across.reads < 0.2

# after torn-inside
assert [seen > 0 for seen, _ in torn.values()] == [False, False, True, True]
assert torn[0.005][0] > 0.9 * torn[0.005][1]

# after downpour-n
assert sent[4, 4] < 0.3 * sent[1, 1]
assert min(found, key=lambda n: found[n].loss[-1]) == (1, 1)
older = {n: history.mean_staleness for n, history in found.items()}
assert older[4, 1] > 2 * older[1, 1] and found[1, 4].updates[-1] * 4 == found[1, 1].updates[-1]

# after adagrad-table
peaks = {name: [peak for peak, *_ in five] for name, five in wild.items()}
above = {name: [pushes for _, pushes, *_ in five] for name, five in wild.items()}
assert all(a > 1.5 * b for a, b in zip(above["SGD"], above["Adagrad"], strict=True))  # in each of five seeds
medians = {name: float(np.median(five)) for name, five in peaks.items()}
lowered = {name: medians[name] / medians[f"{name}, warm start"] for name in ("SGD", "Adagrad")}
assert lowered["Adagrad"] > max(1.3, lowered["SGD"])
assert 0.7 < medians["Adagrad"] / medians["SGD"] < 1.3 and min(medians.values()) > before
assert 2 * np.median(above["Adagrad"]) < np.median(above["SGD"])
assert rows["Adagrad, warm start"][-1] > 1.5 * rows["Adagrad"][-1]  # seven wait

# after commands
from course_lib.parameter_server.sandblaster import COMMANDS

assert all(command.name in COMMANDS for command in said)

# after systems-table
sgd, adagrad, downpour, sandblaster = there.values()
assert all(downpour[1] < other[1] for other in (sgd, adagrad, sandblaster))
assert adagrad[1] < 2.3 * downpour[1]  # far from eight times as fast
assert downpour[0] < adagrad[0]  # stale gradients bear a smaller rate
assert 0.7 < sandblaster[1] / sgd[1] < 1.5

# after sandblaster-bytes
assert max(largest.values()) <= 2 * ps.HEADER_BYTES

# after portions
ordered, nobody_slow = list(rows), {name: row[1] for name, row in rows.items()}
assert ordered[0] == "equal shares" and ordered[-1] == "48 portions, twice"
assert nobody_slow["equal shares, twice"] > 1.4 * nobody_slow["equal shares"]
assert nobody_slow["48 portions, twice"] < 1.1 * nobody_slow["48 portions"]
assert ordered == list(ways)
assert nobody_slow["equal shares, twice"] > 1.5 * nobody_slow["equal shares"]

# after kill
assert trial.kills == kills and trial.lost == trial.duplicated == 0
assert trial.exact  # the parameters are the sum of exactly what was applied
assert all(audit.missing == 0 for audit in trial.audits)  # nor at the death of any server

# after kill-training
assert books == {deaths: (deaths, 0, 0) for deaths in books}

# after kill-training clock
assert abs(losses[8] / losses[0] - 1) < 0.2 and losses[8] < before / 3

# after no-log
assert rows["no recognition"][2] == 0
assert rows["no log"][2] <= 8 * 40

# after no-log clock
assert rows["no log"][2] > 0

# after death-run
assert list(counts.values()) == [1, 2]

# after corners-picture
assert math.isclose(slow[0].loss, slow[2].loss, rel_tol=0.03)  # server and ring
assert even[3].busiest_bytes < even[1].busiest_bytes / 3  # gossip spreads the load

# after real-table
waits = [way for way in ways if way.endswith(", synchronous")]
goes_on = [way for way in ways if way.endswith(", asynchronous")]
simulated = {way: left[way, simulate] for way in ways}  # 0.85 s hold three rounds of 0.4 s, the last begun
assert max(simulated[way] for way in waits) <= 3 * crew < min(simulated[way] for way in goes_on)

# after real-table clock
assert sum(left[way, run] for way in waits) < sum(left[way, run] for way in goes_on)

# after explore-answers
first = seen(policy="synchronous", times_slower=10)
assert (first["updates"], first["virtual time"]) == ("8", "8.15 s")
backed = [seen(policy="with backup workers", times_slower=10, backup=count) for count in (1, 2)]
assert [(facts["updates"], facts["thrown away"]) for facts in backed] == [("9", "0"), ("12", "12")]
assert [round(loss, 2) for loss in (losses[0][1], losses[1][0], losses[2][0])] == [6.35, 1.63, 2.22]
dropping = seen(workers=16, rate=0.2, staleness_weight="drop over 4")
assert (dropping["loss"], dropping["thrown away"]) == ("1.18", "94")
for weight in ("none", "rate / staleness", "decay 0.8"):
    others = [float(seen(workers=16, rate=rate, staleness_weight=weight)["loss"]) for rate in (0.1, 0.2, 0.5, 1)]
    assert min(others) > 1.18  # dropping has the lowest loss of all
unbound, slack_8 = seen(policy="asynchronous"), seen(policy="stale-synchronous", slack=8)
assert [unbound[fact] for fact in ("virtual time", "loss")] == [slack_8[fact] for fact in ("virtual time", "loss")]

# after rpc-count
assert world_size == 1 or after < before
