"""What the lecture of chapter 12 says, as asserts: each block runs behind the cell that its head names."""

# after stake-years
import math
from math import isclose

assert llama.gpus == 16_384 and llama.failures == 419 and llama.days == 54
assert round(0.1 * 54 * 24 * 60 / 419, 1) == 18.6
assert rows[0][2] == "5.8" and round(rows[3][1], 1) == 3.1 and round(60 * rows[4][1]) == 23
causes = ours.LLAMA_3_CAUSES
assert sum(causes.values()) == 419 and causes["silent data corruption"] == 6
assert sum(count for cause, count in causes.items() if "GPU" in cause) > 419 / 2
rate = ours.META_CLUSTERS["RSC-1"]
assert all(3 < ours.job_mtbf_s(gpus, rate) / 3600 / hours < 4 for gpus, hours in ours.META_JOB_MTTF_H.items())

# after costs
assert round(M) == 186 and round(M / 10, 1) == 18.6
first = plans["a save every hour"]
assert round(sum(first.values())) == 53 and sum(first.values()) / M > 0.25
assert max(first, key=first.get) == "lost work"
assert round(405e9 * 12 / 80e9) == 61  # seconds for 4.9 TB
for settings in ((60, 1, 10, 10, 0), (5, 0.1, 3, 5, 0.9)):  # the library's, which the explorer counts with
    interval, save, notice, restart, write = settings
    theirs = ours.failure_cost_s(*[60 * each for each in (interval, save, M, notice, restart, write)])
    mine = cost(interval, save, notice, restart, write)
    assert list(mine) == list(theirs) and all(isclose(60 * mine[part], theirs[part]) for part in mine)

# after state-resume
assert same and same_weights
parts = {"model", "optimizer", "schedule", "scaler", "data", "python", "numpy", "torch"}
assert set(saved) == parts | {"step", "rank", "accelerator"}
assert torch.accelerator.is_available() or saved["accelerator"] == []
assert set(saved["data"]) == {"epoch", "taken"}

# after state-forget-run
import copy as copying

assert [row[1] for row in rows] == ["none", 31, 32, 33, 32, 31, 31, 31, 31]
assert sum(abs(row[2]) > 0.2 for row in rows) == 1 and rows[1][2] > 0.5 and rows[0][2] == 0
for draw in range(6):
    one = ours.Training(digits, seed=draw)
    losses(one, 30)
    state = ours.snapshot(one.state_dict())
    right = losses(one, 60)
    for name in ("model", "optimizer", "schedule", "scaler", "data", "python", "numpy", "torch"):
        other = ours.Training(digits, seed=draw)
        parts = copying.deepcopy(state)
        del parts[name]
        other.load_state_dict(parts, strict=False)
        change = sum(losses(other, 60)[-10:]) / sum(right[-10:]) - 1
        assert change > 0.6 if name == "model" else abs(change) < 0.1
uncopied, before = ours.snapshot(saved), ours.snapshot(saved)
changing = ours.Training(digits, seed=seed)
changing.optimizer.load_state_dict(uncopied["optimizer"])  # PyTorch's own; `Training` loads a copy
losses(changing, 20)
averages = [state["optimizer"]["state"][0]["exp_avg"] for state in (uncopied, before)]
assert not torch.equal(averages[0], averages[1])

import io
import pickle
import random

import numpy as np

numpy_state = np.random.get_state()  # noqa: NPY002
for state, loads in ((random.getstate(), True), (numpy_state, False), (saved, True)):
    file = io.BytesIO()
    torch.save({"state": state}, file)
    file.seek(0)
    try:
        torch.load(file)
        assert loads
    except pickle.UnpicklingError as error:
        assert not loads and "Weights only load failed" in str(error)

# after naive-save
assert len(content) == 1500 and b"old" not in content

# after cut
assert [row[1] for row in rows] == ["operations", "killed after it", "power fails after it"] * 3
killed_at = [[word for word in row[2:] if word] for row in rows[1::3]]
power_at = [[word for word in row[2:] if word] for row in rows[2::3]]
assert killed_at == [["torn"] * 3 + ["✓"] * 2, ["✓"] * 5, ["✓"] * 7]
assert power_at == [["torn?"] * 5, ["✓"] * 4 + ["torn?"], ["✓"] * 7]
assert rows[3][2:7] == ("open", "write", "flush, half", "flush, all", "rename")

checkpoints = ours.Checkpoints(folder / "kept")  # the newest three; one that is damaged is passed over
for step in (10, 20, 30, 40, 50):
    checkpoints.save(step, {"step": step})
[newest] = (folder / "kept").glob("*step-50*")
newest.write_bytes(newest.read_bytes()[:-1])
assert checkpoints.steps() == [30, 40, 50] and checkpoints.whole_steps() == [30, 40] and checkpoints.newest() == 40
sealed = ours.seal(bytes(range(100)))
damaged = [sealed[:length] for length in range(len(sealed))]
for bit in range(8 * len(sealed)):
    flipped = bytearray(sealed)
    flipped[bit // 8] ^= 1 << bit % 8
    damaged.append(bytes(flipped))
for each in damaged:
    try:
        ours.unseal(each)
    except ours.DamagedFileError:
        continue
    raise AssertionError("damage was not found")

# after life-run
assert [row[1] for row in rows] == [0, 10, 0] and rows[1][2] == rows[2][2] != rows[0][2]
for ranks in (1, 3):
    place = str(folder / f"lives of {ranks}")
    run(life, ranks, args=(place, 7))
    assert run(life, ranks, args=(place, 10)).results[0][0] == 5
    again = run(life, ranks, args=(place, 15)).results[0][1]
    assert again == run(life, ranks, args=(place + ", one", 15)).results[0][1]

# after kills-run
untouched = experiments.kill_training(kills=0, steps=200)
assert alone.weights == untouched.weights and alone.lost == several.lost == 0
untouched = experiments.kill_training(kills=0, world_size=world_size, steps=30)
assert several.weights == untouched.weights
assert all(one.ended_at >= one.began_at + 5 for one in several.lives)  # each brought a checkpoint
assert all(one.died_at - one.ended_at <= 6 for one in alone.lives)
assert all(one.died_at - one.ended_at == 5 for one in alone.lives if one.in_a_save)

# after interval-curve
assert round(best) == 19 and isclose(best**2, 2 * 1 * M)
least, half, twice = (cost(best * factor, 1, 0, 0) for factor in (1, 0.5, 2))
assert isclose(least["saves"], least["lost work"]) and round(least["saves"], 1) == 9.6
assert isclose(sum(half.values()), 1.25 * sum(least.values())) and isclose(sum(twice.values()), sum(half.values()))
whole_least, whole_half = (sum(cost(best * factor, 1).values()) for factor in (1, 0.5))
assert round(whole_half / whole_least - 1, 3) == 0.123  # an eighth
assert 17.5 < intervals[by_formula.index(min(by_formula))] < 21.5
assert all(a < 1.02 * b for a, b in zip(by_draw, by_formula)) and by_draw[0] < 0.75 * by_formula[0]
assert by_draw[-1] < 0.95 * by_formula[-1] and all(
    abs(a / b - 1) < 0.1 for a, b in zip(by_draw[20:33], by_formula[20:33])
)
exact_min = ours.best_interval_s(0.1, 1.0)
assert 0.16 < ours.young_interval_s(0.1, 1.0) / exact_min - 1 < 0.175
assert abs(ours.daly_interval_s(0.1, 1.0) / exact_min - 1) < 0.001

# after costs-second
second = plans["the best interval"]
assert round(sum(second.values())) == 39 and isclose(second["saves"], second["lost work"])
assert round(second["saves"], 1) == 9.6 and 2 * second["saves"] > M / 10

# after background-run
assert isclose(rows[1][2], 0.1) and rows[0][2] == 0

# after costs-third
assert round(interval, 1) == 5.6 and copy + write == 1
third = plans["saves beside the run"]
assert round(sum(third.values()), 1) == 26.5
assert 0.73 < (third["notice"] + third["restart"]) / sum(third.values()) < 0.77


# after hangs-run
def errors(name):
    return [line for line in trials[name].lines if "begins" not in line.words]


for name in ("fails", "is_killed"):
    others = [line for line in errors(name) if line.rank != 2]
    assert {line.rank for line in others} == {0, 1, 3}
    assert all("onnection" in line.words or "roken pipe" in line.words for line in others)
assert errors("fails")[0].rank == 2 and errors("fails")[0].words == "ValueError: image 17 is broken"
assert 2 not in [line.rank for name in ("is_killed", "hangs") for line in errors(name)]
timed_out = {name for name in trials for line in errors(name) if "Timed out" in line.words}
assert timed_out == {"hangs"}
for name in trials:  # who had not begun the fourth sum
    assert {line.rank for line in trials[name].lines if line.words == "begins sum 4"} == {0, 1, 3}
    assert [line.words for line in trials[name].lines if line.rank == 2][2] == "begins sum 3"
assert [trials[name].exits[2] for name in trials] == ["exit code 1", "signal 9", "did not end"]

from datetime import timedelta


def who_is_missing(comm):
    group, said = dist.new_group(), "nobody"
    dist.barrier(group)
    if comm.rank == 2:
        time.sleep(1.5)
    try:
        dist.monitored_barrier(group, timeout=timedelta(seconds=1), wait_all_ranks=True)
    except RuntimeError as error:
        said = str(error)
    return said


assert "Ranks 2 failed to pass" in run(who_is_missing, 4, echo=False).results[0]

# after costs-fourth
fourth = plans["a time-out of 3 minutes"]
assert round(sum(fourth.values()), 1) == 19.5 and max(fourth, key=fourth.get) == "restart"

# after sampler-count
assert [row[2:] for row in rows] == [(320, 1), (80, 1), (240, 0), (0, 80)]
repeated = Counter(each for rank in range(3) for each in torch.utils.data.DistributedSampler(range(1000), 3, rank))
assert sorted(repeated.values())[-3:] == [1, 2, 2] and len(repeated) == 1000  # the default repeats two
for before, after in ((4, 3), (3, 4)):  # the place in examples
    taken = 10 * 8 * before
    order, seen = ours.DataOrder(1000, batch_size=taken), []
    seen += order.next_batch().tolist()
    rest = ours.DataOrder(1000, batch_size=8 * after, taken=taken)
    while rest.epoch == 0:
        seen += rest.next_batch().tolist()
    assert sorted(seen) == list(range(1000))
assert 2 in Counter(drawn(8, 0, 5) + drawn(6, 5, 1000)).values()  # check yourself, 5

reads = [ours.pieces_to_read(10, saved_by=4, rank=rank, world_size=3) for rank in range(3)]
assert [(piece.saved_rank, piece.stop - piece.start) for piece in reads[1]] == [(1, 2), (2, 1)]
owner = [rank for rank, held in enumerate((3, 3, 2, 2)) for _ in range(held)]
needed = [rank for rank in range(3) for piece in reads[rank] for _ in range(piece.stop - piece.start)]
assert owner == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3] and needed == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]

from torch.distributed.run import get_args_parser

assert get_args_parser().get_default("max_restarts") == 0

from course_lib import DeadlockError, simulate
from course_lib.collectives import all_gather


def saved_by_rank_0(comm, callers):
    shards = [torch.zeros(10) for _ in range(comm.world_size)]
    if comm.rank in callers:
        all_gather(comm, shards, torch.ones(10))


for ranks in (1, 3, 5):
    simulate(saved_by_rank_0, ranks, args=(range(ranks),))
try:
    simulate(saved_by_rank_0, 3, args=([0],))
    raise AssertionError("it must hang")
except DeadlockError:
    pass

# after costs-fifth
fifth = plans["one machine fewer"]
assert round(sum(fifth.values()), 1) == 14.5 < M / 10
totals = [sum(parts.values()) for parts in plans.values()]
assert [round(total, 1) for total in totals] == [53.1, 39.3, 26.5, 19.5, 14.5]
assert round(M * 128 / 16_384, 1) == 1.4 and round(totals[-1] + M * 128 / 16_384, 1) == 15.9


def played_min(interval_min, save_s, down_min, write_s=0.0):
    """Minutes that a failure costs where failures are drawn, for five draws."""
    settings = (60 * interval_min, save_s, llama.mtbf_s, 60 * down_min, write_s)
    return [ours.simulate_run(4e7, *settings, seed=draw).waste * M for draw in range(5)]


five = [played_min(60, 60, 20), played_min(best, 60, 20)]
five += [played_min(interval, 5, down, 55) for down in (20, 13, 8)]
assert [round(sum(played) / 5) for played in five] == [47, 36, 25, 18, 14]
fourths = [ours.simulate_run(4e7, 60 * interval, 5, llama.mtbf_s, 780, 55, seed=draw).waste * M for draw in range(40)]
assert round(sum(fourths) / 40, 1) == 18.5 and 8 < sum(minutes > 0.1 * M for minutes in fourths) < 20
assert all(abs(minutes - sum(played) / 5) < 1.2 for played in five for minutes in played)
days = [(totals[0] - totals[-1]) * 419 / 1440, (sum(five[0]) - sum(five[-1])) / 5 * 419 / 1440]
assert [round(each) for each in days] == [11, 10]


def goes_on(comm, place, steps, save=False):
    """All weights at this step, from the newest checkpoint in the place."""
    training, checkpoints = ours.Training(digits, comm, seed=seed), ours.Checkpoints(place, comm)
    if checkpoints.newest() is not None:
        training.load_state_dict(checkpoints.load(checkpoints.newest()))
    losses(training, steps)
    if save:
        checkpoints.save(training.step, training.state_dict())
    return torch.nn.utils.parameters_to_vector(training.model.parameters()).detach()


place = str(folder / "fewer")  # with fewer ranks it is another run, by more than rounding
run(goes_on, 4, args=(place, 10, True))
four, four_again, three = (run(goes_on, ranks, args=(place, 11)).results[0] for ranks in (4, 4, 3))
assert torch.equal(four, four_again) and (four - three).abs().max() > 1e-3


# after explorer
def costs_in_explorer(**settings):
    facts = [part.facts for part in FaultsExplorer(**settings).parts if hasattr(part, "facts")]
    return facts[0]["a failure costs"]  # those of the bars are empty


assert costs_in_explorer() == "53.1 min" and costs_in_explorer(beside=True, interval_s=300.0) == "26.5 min"
at = {notice_s: costs_in_explorer(beside=True, interval_s=300.0, notice_s=notice_s) for notice_s in (120, 180)}
assert at == {120: "18.5 min", 180: "19.5 min"}
assert round(2 * second["saves"], 1) == 19.3

assert isclose(ours.young_interval_s(60, llama.mtbf_s / 4), ours.young_interval_s(60, llama.mtbf_s) / 2)
share = [math.sqrt(2 * 1 / minutes) for minutes in (M, M / 4)]
assert isclose(share[0], sum(least.values()) / M) and isclose(share[1], 2 * share[0])
