"""What the lecture of chapter 03 says, as asserts: each block runs behind the cell that its head names."""

# after stakes-table
by_workers = {row[0]: row[1:] for row in rows}
assert round(by_workers[100][0], 2) == 0.63 and round(0.99**100, 2) == 0.37
assert round(by_workers[8][1], 2) == 0.34
assert 1.5 * 3.0 == 4.5 and math.isclose(0.1 + 0.05 * 1.0, 0.15)

# after bars-first
import statistics

from course_lib.tasks import Classifier, digit_batches

synchronous = bars["synchronous, rate 8"]
assert synchronous.oldest == 0 and synchronous.seconds > 3.3 * before
tried = [needed(ps.synchronous(8), rate, speeds).seconds for speeds in (healthy, stalling) for rate in (4, 8, 16)]
assert tried[1] < min(tried[0], tried[2]) and tried[4] < min(tried[3], tried[5])
history = train(ps.synchronous(8), workers=8, speeds=stalling, updates=1000, rate=0.5, points=1, seed=seed)
assert 0.42 < history.time_s[-1] / 1000 < 0.46  # of a step
history = train(ps.synchronous(8), workers=8, speeds=healthy, updates=200, rate=0.5, points=1, seed=seed)
assert 0.105 < history.time_s[-1] / 200 < 0.115
task = Classifier()
parameters = task.initial(seed)
streams = [digit_batches(32, rank=worker, seed=seed) for worker in range(8)]
for _ in range(10):  # one machine with a batch of 256
    inputs, labels = zip(*(next(stream) for stream in streams), strict=True)
    parameters -= 0.5 * task.gradient(parameters, torch.cat(inputs), torch.cat(labels))
history = train(ps.synchronous(8), workers=8, updates=10, rate=0.5, seed=seed)
assert torch.allclose(history.parameters, parameters, rtol=0, atol=1e-6)
if seed == 0:
    assert (round(before, 1), round(goal, 1), round(synchronous.seconds, 1)) == (3.0, 4.5, 11.7)
    arrived = [train_to_loss(ps.synchronous(8), workers=8, rate=8, speeds=healthy, seed=draw) for draw in range(5)]
    made = [run.updates[run.time_s.index(run.seconds_to(0.2))] for run in arrived]
    assert min(made) >= 25 and max(made) <= 30

# after beginnings
pace = {name: history.gradients[-1] / history.time_s[-1] for name, history in runs.items()}
assert pace["asynchronous"] > 2.5 * pace["synchronous"]
if seed == 0:
    assert round(pace["synchronous"]) == 17 and pace["asynchronous"] > 50
assert runs["synchronous"].busy_share < 0.4 < 0.98 < runs["asynchronous"].busy_share

# after same-rate-run
assert bars["asynchronous, rate 8"].seconds == math.inf
losses = dict(zip(runs["asynchronous"].time_s, runs["asynchronous"].loss, strict=True))
assert (
    40 < max(losses[0.5], losses[0.4], losses[0.6]) < 400
    and 10 < max(runs["synchronous"].loss) < 40
    and runs["asynchronous"].loss[-1] < 1
)

# after heart
assert staleness_of([1, 2, 3, 1, 2, 3]) == [0, 1, 2, 2, 2, 2]
assert staleness_of([]) == [] and staleness_of([5, 5, 5]) == [0, 0, 0]

# after age-run
for name, speeds in {"healthy": healthy, "stalling": stalling}.items():
    again = train(
        ps.asynchronous(), workers=8, rate=0.5, speeds=speeds, updates=math.inf, seconds=20, points=1, seed=seed
    )
    pairs = list(zip(ages[name], again.staleness, strict=True))  # what the server counts
    assert sum(mine != its for mine, its in pairs) < 0.04 * len(pairs)  # another push came between push and pull
    assert abs(sum(ages[name]) / len(ages[name]) - 7) < 0.2
assert 10 <= max(ages["healthy"]) <= 12 and max(ages["stalling"]) > 60
stalled = [age for age in ages["stalling"] if age > 25]
assert 6.9 < sum(stalled) / len(stalled) / 7 < 8.1  # pushes of another worker in a stall

# after slow-run
assert all(abs(float(row[3]) - 7) < 0.05 for row in rows)
assert rows[2][1] > 60 and all(row[2] < rows[0][2] for row in rows[1:])

# after softsync-table
assert all(abs(float(mean) - 29 / c) < 0.02 * 29 / c for _, c, _, mean, *_ in rows)
assert rows[0][4] == "0 to 2" and [row[1] for row in rows] == [30, 2, 1]

# after bowl
assert round(2 * math.sin(math.pi / (4 * 7 + 2)), 3) == 0.209
assert max(map(abs, descend(0.205, 7, 3000)[-50:])) < 0.5 < 2 < max(map(abs, descend(0.213, 7, 3000)[-50:]))
assert max(map(abs, descend(1.99, 0, 3000)[-50:])) < 1e-9
for old in (15, 31, 63):
    ratio = math.sin(math.pi / (4 * old + 2)) / math.sin(math.pi / (8 * old + 2))
    assert 1.9 < ratio < 2.0  # twice as old

# after bars-third
asynchronous = bars["asynchronous, rate 1"]
assert asynchronous.seconds < goal < synchronous.seconds and asynchronous.oldest > 50
if seed == 0:
    assert asynchronous.seconds < min(needed(ps.asynchronous(), rate, stalling).seconds for rate in (0.5, 2))
    assert round(asynchronous.seconds, 1) == 3.5
    small, large = (
        train_to_loss(policy, workers=8, rate=rate, speeds=stalling, seed=draw)
        for policy, rate, draw in ((ps.asynchronous(), 1, 0), (ps.synchronous(8), 8, 1))
    )
    made = [run.updates[run.time_s.index(run.seconds_to(0.2))] for run in (small, large)]
    assert 160 < made[0] < 200 and made[1] == 26
    fresh = {}
    for rate in (1, 8):
        alone = [train(ps.synchronous(1), workers=1, rate=rate, updates=300, points=300, seed=d) for d in range(5)]
        places = [next(place for place, loss in enumerate(run.loss) if loss < 0.2) for run in alone]
        fresh[rate] = statistics.median(run.updates[place] for run, place in zip(alone, places, strict=True))
    assert 175 < fresh[1] < 195 and 50 < fresh[8] < 70

# after policies
assert [row[1:] for row in rows] == [
    (8, False, True, None),
    (1, False, False, None),
    (4, False, False, None),
    (1, False, False, 2),
    (7, True, True, None),
]

# after bars-fourth
assert [7 * (2 * slack + 1) for slack in (2, 8)] == [35, 119]
two, eight = bars["slack 2, rate 1"], bars["slack 8, rate 1"]
assert two.oldest <= 35 and eight.oldest <= 119
for draw in range(3):
    speeds = (healthy, stalling, Speeds(0.1, 0.1, {0: 4.0}))
    for slack in (0, 1, 2, 8):
        policy = ps.stale_synchronous(slack)
        counts = [measure_staleness(policy, workers=8, updates=2000, speeds=each, seed=draw).counts for each in speeds]
        assert max(map(max, counts)) <= 7 * (2 * slack + 1)
assert asynchronous.seconds < 1.3 * eight.seconds < 1.3 * goal < 1.1 * 1.3 * two.seconds
for slack in (2, 8) if seed == 0 else ():
    rates = [needed(ps.stale_synchronous(slack), rate, stalling).seconds for rate in (0.5, 1, 2)]
    assert rates[1] == min(rates)
minute = {"updates": math.inf, "seconds": 60, "points": 1, "seed": seed}
for slack, busy in {2: 0.5, 8: 0.75}.items():
    history = train(ps.stale_synchronous(slack), workers=8, rate=0.5, speeds=stalling, **minute)
    assert abs(history.busy_share - busy) < 0.07

# after hour
by_name = {name: (first, later) for name, first, later in rows}
first, later = zip(by_name["stale-synchronous, slack 2"], by_name["stale-synchronous, slack 8"], strict=True)
assert first[1] > 1.3 * first[0] and later[1] < 1.05 * later[0]
assert 1.1 * by_name["synchronous"][1] > later[1]

# after bars-fifth
fresh = {count: bars[name] for count, name in enumerate(bars, -4) if "backup" in name}
assert sorted(fresh) == [1, 2, 3] and all(found.oldest == 0 for found in fresh.values())
assert fresh[3].seconds < goal < fresh[1].seconds < synchronous.seconds
history = train(ps.synchronous(5, 3), workers=8, rate=0.5, speeds=stalling, updates=500, points=500, seed=seed)
slow = [end - start > 0.2 for start, end in zip(history.time_s, history.time_s[1:], strict=False)]
assert 0.04 < sum(slow) / len(slow) < 0.1  # of the steps wait for a stall
if seed == 0:
    assert [round(found.seconds, 1) for found in fresh.values()] == [5.7, 4.0, 3.1] and fresh[2].seconds < goal

# after five
assert round(1 - 0.95**5, 2) == 0.23
assert alone[1] > 2 * fresh[3].seconds and abs(alone[0] / before - 1) < 0.2
if seed == 0:
    assert round(alone[0], 1) == 3.0 and round(alone[1], 1) == 8.8

# after heard
assert rows[0][1] == rows[1][1] > 10 and rows[1][2] == 0

# after verdict-table
one_slow = {name: slow for name, _, _, slow in rows}
waits = ("synchronous", "slack 2", "slack 8")
assert min(one_slow[name] for name in waits) > 1.3 * max(one_slow[name] for name in one_slow if name not in waits)
seven = needed(ps.synchronous(7), 8, healthy, workers=7).seconds  # it is taken out
assert abs(one_slow["1 backup"] / seven - 1) < 0.25


# after explorer
def arrives(**settings):
    return ServerExplorer(**settings).parts[1].facts["loss below 0.2 after"]


assert arrives() == "not in 13 s" and arrives(rate=1) == "3.5 s"
assert [arrives(rate=rate) for rate in (0.5, 2, 4)] == ["4.5 s", "5.7 s", "10.1 s"]
backed = [arrives(policy="with backup workers", backup=backup) for backup in (1, 2, 3)]
assert backed == ["6.8 s", "4.2 s", "4.0 s"]
