"""The exercises of chapter 3: what their cases hold, and that what they expect is right."""

import math
from collections import Counter
from collections.abc import Callable

import nbformat
import numpy as np
import pytest
import torch
from exercise_answers import EXERCISES, SOLUTIONS, given

from course_lib import simulate
from course_lib.grading import check
from course_lib.grading.exercises import exercises_of, find
from course_lib.grading.exercises.chapter_03.b_backup_server import BACKUPS, with_backups
from course_lib.grading.exercises.chapter_03.d_bounded_server import BOUNDED
from course_lib.grading.exercises.chapter_03.e_staleness_aware import STALE
from course_lib.grading.exercises.chapter_03.schedules import Schedule, waiting_row
from course_lib.grading.exercises.mistakes import function_of
from course_lib.parameter_server import (
    Message,
    Policy,
    Server,
    admits,
    expected_staleness,
    shard_length,
    shard_plan,
    softsync,
    stale_synchronous,
    synchronous,
)

IDS = [exercise.id for exercise in exercises_of("03")]


@pytest.mark.parametrize("exercise", [e for e in exercises_of("03") if e.mode == "ranks"], ids=lambda e: e.id)
def test_cases_hold_several_world_sizes_and_not_too_many_ranks(exercise):
    cases = list(exercise.cases(np.random.default_rng()))
    assert len({case.world_size for case in cases}) >= 3
    assert sum(case.world_size * (1 + case.perturb) for case in cases) <= 40


@pytest.mark.parametrize("exercise_id", ["03a", "03b", "03d", "03h"])
def test_where_results_are_sums_a_message_is_changed_on_its_way(exercise_id):
    exercise = find(exercise_id)
    changed = [case for case in exercise.cases(np.random.default_rng()) if case.perturb]
    assert exercise.perturbation is not None
    assert len({case.world_size for case in changed}) == 2


def test_notes_of_two_shapes_are_not_taken_for_a_note_and_a_row():
    names = {}
    exec(given("03"), names)
    for exercise_id, shape in [("03a", ()), ("03b", ()), ("03b", (2,)), ("03d", ())]:
        names["note"] = torch.zeros(shape, dtype=torch.int64)
        source = "def server(comm, row, *more):\n    if comm.rank: return work(comm, row, *more[:2])\n"
        source += "    if comm.world_size > 1: comm.recv(note)\n    return row"
        exec(source.replace("work(", "work_in_steps(") if exercise_id == "03b" else source, names)
        assert "two notes of different shapes met" in repr(check(exercise_id, names["server"]))


# What the cases expect, held against the library


def _answers(policy: Policy, schedule: Schedule) -> list[tuple[int, ...]]:
    """Whom the library's server answers at each arrival; who has pushed all it has leaves when it is answered."""
    workers = range(1, schedule.workers + 1)
    server = Server(0, None, policy, workers, updates=schedule.updates or math.inf)
    left, clock, version = Counter(push[0] for push in schedule.pushes()), Counter(), Counter()
    said: list[tuple[int, ...]] = []
    for worker in workers:
        server.handle(Message("pull", worker, version=-1))
    for arrival in schedule.arrivals:
        worker = arrival.worker
        clock[worker] += 1
        outbox = server.handle(Message("push", worker, clock[worker], version[worker]))
        outbox += server.handle(Message("pull", worker, clock[worker], version[worker]))
        answered = []
        while outbox:
            dst, message = outbox.pop(0)
            answered.append(dst)
            version[dst] = message.version
            if clock[dst] == left[dst] and message.kind == "parameters":
                outbox += server.handle(Message("goodbye", dst))
        said.append(tuple(sorted(answered)))
    return said


@pytest.mark.parametrize(("row", "slack", "workers", "length", "perturb"), BOUNDED)
def test_bounded_rows_answer_whom_the_librarys_server_answers(row, slack, workers, length, perturb):
    schedule = waiting_row(row, workers, np.random.default_rng())
    assert _answers(stale_synchronous(slack), schedule) == [tuple(sorted(a.answered)) for a in schedule.arrivals]


@pytest.mark.parametrize(("row", "take", "workers", "length", "perturb"), BACKUPS)
def test_backup_rows_answer_whom_the_librarys_server_answers(row, take, workers, length, perturb):
    schedule = with_backups(row, workers, take, np.random.default_rng())
    policy = synchronous(take, backup=max(1, workers - take))
    assert _answers(policy, schedule) == [tuple(sorted(a.answered)) for a in schedule.arrivals]


@pytest.mark.parametrize(("row", "take", "workers", "length", "perturb"), BACKUPS)
def test_capital_letters_are_gradients_on_the_present_version(row, take, workers, length, perturb):
    schedule, seen, version = with_backups(row, workers, take, np.random.default_rng()), Counter(), 0
    for arrival in schedule.arrivals:
        assert arrival.taken == (seen[arrival.worker] == version)
        version += bool(arrival.taken and arrival.answered)
        seen.update({worker: version - seen[worker] for worker in arrival.answered})
    assert version == schedule.updates


@pytest.mark.parametrize(("row", "workers", "length"), STALE)
def test_staleness_has_exact_rates_only(row, workers, length):
    assert set(waiting_row(row, workers, np.random.default_rng()).staleness()) <= {0, 1, 2, 4}


def test_staleness_counts_the_updates_since_the_last_answer():
    # Drawn by hand: worker b's first gradient meets two of a's, a's third meets one of b's.
    assert waiting_row("a a b a b", 2, np.random.default_rng()).staleness() == [0, 0, 2, 1, 1]


def test_softsync_numbers_are_the_librarys():
    for case in find("03i").cases(np.random.default_rng()):
        for (workers, n, _), (each, _, mean) in zip(case.inputs, case.expected, strict=True):
            assert softsync(workers, n).gradients_per_update == each
            assert expected_staleness(workers, each) == mean


def test_the_rule_of_slack_is_the_librarys():
    for case in find("03c").cases(np.random.default_rng()):
        for (clocks, worker, slack), right in zip(case.inputs, case.expected, strict=True):
            library = admits(
                stale_synchronous(slack), has_version=0, clock=clocks[worker], version=0, slowest_clock=min(clocks)
            )
            assert library == right


def test_biggest_first_keeps_the_bound_and_every_other_rule_breaks_it():
    for seed in range(20):
        (case,) = find("03f").cases(np.random.default_rng(seed))
        plans = [shard_plan(lengths, servers, by="size") for lengths, servers in case.inputs]
        numbered = [
            [[lengths_to(lengths)[piece.start] for piece in shard] for shard in plan]
            for (lengths, _), plan in zip(case.inputs, plans, strict=True)
        ]
        assert [look(plan) for look, plan in zip(case.expected, numbered, strict=True)] == [None] * len(plans)
        for rule in mistaken("03f"):
            loads = [max(loads_of(rule(*call), call[0])) for call in case.inputs]
            best = [max(map(shard_length, plan)) for plan in plans]
            assert any(load > 4 / 3 * least for load, least in zip(loads, best, strict=True)), rule


def mistaken(exercise_id: str) -> list[Callable]:
    exercise = find(exercise_id)
    return [function_of(exercise, mistake) for mistake in exercise.mistakes if mistake.told]


def loads_of(plan: list[list[int]], lengths: list[int]) -> list[int]:
    return [sum(lengths[number] for number in shard) for shard in plan]


def lengths_to(lengths: list[int]) -> dict[int, int]:
    """The number of the tensor that begins at each place of the row."""
    return {sum(lengths[:number]): number for number in range(len(lengths))}


def test_a_mistake_in_the_rule_of_slack_costs_no_points_of_the_server(grader):
    source = next(cell.source for cell in nbformat.read(SOLUTIONS["03"], as_version=4).cells if cell.id == "d-answer")
    assert "may_go_on(" in source
    mistaken = "def may_go_on(clocks, worker, slack):\n    return clocks[worker] - min(clocks) < slack"
    names: dict = {}
    for cell in ("import math\n" + given("03"), mistaken, source):
        exec(cell, names)
    report = check("03d", names["bounded_server"])
    assert report.ok, report
    assert not names["may_go_on"]([math.inf, 1, 0], 1, 1), "the notebook's own function is back"
    grade = grader.grade(
        find("03d"), [("setup", "import math\n" + given("03")), ("other", mistaken), ("answer", source)]
    )
    assert (grade.points, grade.messages) == (4, [])


# The notebooks


def test_the_frame_that_is_given_holds_no_solution():
    cells = {
        cell.id: cell.source for cell in nbformat.read(EXERCISES["03"], as_version=4).cells if cell.cell_type == "code"
    }
    answers = {name: source for name, source in cells.items() if name.endswith("-answer")}
    assert len(answers) == len(IDS)
    assert all(source.count("raise NotImplementedError") == 1 for source in answers.values())
    assert sum(source.endswith("raise NotImplementedError") for source in answers.values()) == len(IDS) - 1
    assert "pull(" not in answers["g-answer"]  # in whose frame a part is left out


def test_the_server_to_mend_is_right_for_one_worker_and_loses_updates_of_two():
    cells = {cell.id: cell.source for cell in nbformat.read(SOLUTIONS["03"], as_version=4).cells}
    names = {"torch": torch}
    exec(given("03") + cells["h-given"], names)

    def program(comm):
        gradients = -torch.full((2, 1), 10.0 ** (comm.rank - 1))
        return names["remembering_server"](comm, torch.zeros(1), gradients, [1.0 + 0.1 * comm.rank] * 2)

    assert simulate(program, 2).results[0].item() == 2
    assert simulate(program, 3).results[0].item() == 20  # 22 would be right


@pytest.mark.parametrize("seed", range(50))
def test_the_questions_of_slack_tell_every_mistaken_rule_from_the_right_one_and_from_each_other(seed):
    (case,) = find("03c").cases(np.random.default_rng(seed))
    answers = [tuple(map(bool, case.expected))]
    answers += [tuple(bool(rule(*call)) for call in case.inputs) for rule in mistaken("03c")]
    assert len(set(answers)) == len(answers)
