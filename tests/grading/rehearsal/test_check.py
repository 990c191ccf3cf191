"""The check in the notebook: says what the judge would say, and decides nothing."""

import functools
import random
import re
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from grading_example import ANSWERS, PASSING_ROUND, RIGHT, RING

from course_lib.collectives import ring_all_reduce
from course_lib.grading import check, check_chapter, exercises, hint
from course_lib.grading.exercise import Case, Exercise, Outcome
from course_lib.grading.exercises import chapters, exercises_of
from course_lib.grading.rehearsal import cases as one_case
from course_lib.grading.rehearsal import check as check_module
from course_lib.grading.rehearsal import time_limit
from course_lib.grading.rehearsal.check import _globals_of
from course_lib.grading.verdict import difference


def _function(source):
    names = {}
    exec(source, names)
    return names["ring_sum"]


@pytest.mark.parametrize("name", ANSWERS)
def test_a_right_answer_is_told_so_with_its_points(name):
    source, points = ANSWERS[name]
    report = check(RING, _function(source))
    assert report.points == points
    assert report.ok == (points == 4)


def test_a_wrong_value_is_shown_beside_the_right_one_with_world_size_and_element():
    text = repr(check(RING, lambda comm, tensor: tensor.mul_(comm.world_size)))
    assert "1 case is right" in text
    assert "world_size 2, 8 elements: rank 0 holds [" in text
    assert "the first difference is at element 0" in text
    assert "1 case is right, the next is not (0 of 4 points by this check)" in text
    assert "The judge decides the points" in text


def test_an_untouched_function_is_not_an_error():
    def ring_sum(comm, tensor):
        raise NotImplementedError

    report = check(RING, ring_sum)
    (finding,) = report.findings
    assert str(finding) == "not attempted yet: the function still raises NotImplementedError"
    assert repr(report).startswith("○ Exercise 99a, Sum on a ring: not written yet\n")
    assert "error" not in report._repr_html_()
    assert "points" not in repr(report)


def test_a_right_result_on_a_dear_way_is_no_wrong_case():
    text = repr(check(RING, _function(PASSING_ROUND)))
    assert "the results are right, the way there is not yet (3 of 4 points by this check)" in text


def test_a_chapter_is_checked_before_all_its_cells_have_run(monkeypatch):
    monkeypatch.setattr(
        exercises, "exercises_of", lambda chapter: {"99": (RING, replace(RING, id="99b", function="other"))}[chapter]
    )
    monkeypatch.setattr(check_module, "exercises_of", exercises.exercises_of)
    reports = check_chapter("99", {"ring_sum": _function(RIGHT)})
    assert {name: (report.points, report.written) for name, report in reports.items()} == {
        "99a": (4, True),
        "99b": (0, False),
    }


@pytest.mark.parametrize("chapter", chapters())
def test_how_far_one_is_can_be_asked_before_any_answer_has_run(chapter):
    reports = check_chapter(chapter, {})
    assert {name for name, report in reports.items() if report.written or report.points} == set()
    assert len(reports) == len(exercises_of(chapter))


def test_the_links_have_no_model_as_under_the_judge():
    assert "no attribute 'latency_s'" in repr(check(RING, lambda comm, tensor: comm.network.latency_s))


def test_a_deadlock_and_an_exception_are_findings():
    def stuck(comm, tensor):
        if comm.world_size > 1:
            comm.recv(tensor, (comm.rank + 1) % comm.world_size)

    assert "waits in recv from" in repr(check(RING, stuck))
    assert "ZeroDivisionError" in repr(check(RING, lambda comm, tensor: 1 / 0))


def _endless(comm, tensor):
    while comm.rank == 1:
        tensor.add_(0)


def _endless_in_what_it_calls(comm, tensor):
    while comm.rank == 1:
        pass


@pytest.mark.parametrize("loop", [_endless, _endless_in_what_it_calls])
def test_an_endless_loop_is_found_with_its_rank_and_line(monkeypatch, loop):
    monkeypatch.setattr(one_case, "LIMIT_S", 0.3)
    (finding,) = check(RING, loop).findings
    assert re.search("rank 1 was still (busy after 0.3 s of CPU time|waiting after 0.3 s), in ", finding.text)
    assert "test_check.py, line" in finding.text
    assert "an endless loop?" in finding.text
    monkeypatch.undo()  # 0.3 s may be too few for a right answer on a busy machine
    assert check(RING, _function(RIGHT)).ok  # and nothing of it is left


def test_a_program_that_waits_ends_and_what_others_do_on_the_machine_does_not_count(monkeypatch):
    monkeypatch.setattr(one_case, "LIMIT_S", 0.3)
    (finding,) = check(RING, lambda comm, tensor: threading.Event().wait(60)).findings
    assert "still waiting after 0.3 s" in finding.text
    machine = SimpleNamespace(**{name: getattr(time, name) for name in dir(time)})
    machine.process_time, machine.clock_gettime = (lambda: 0.0), (lambda clock: 0.0)
    monkeypatch.setattr(time_limit, "time", machine)  # gives us no processor: it is idle, not busy
    (finding,) = check(RING, _endless).findings
    assert "still waiting after 0.3 s" in finding.text


def test_an_endless_loop_without_ranks_is_named_with_its_arguments(monkeypatch):
    def cost(n):
        while n:
            n += 1
        return 0

    monkeypatch.setattr(one_case, "LIMIT_S", 0.3)
    one = Exercise(
        "98b", "Cost", "cost", 1, lambda rng: [Case(1, [(0,), (3,)], [0, 0], label="cost")], "return", "function"
    )
    assert "cost: cost(3) was still busy after 0.3 s of CPU time" in repr(check(one, cost))


def test_an_error_inside_the_standard_library_is_shown_at_the_students_line():
    one = Exercise("98c", "Order", "order", 1, lambda rng: [Case(1, [(3,)], [0], label="seeds")], "return", "function")
    said = repr(check(one, lambda seed: random.Random([seed])))
    assert "order(3) raised TypeError" in said
    assert "test_check.py, line" in said
    assert "random.py" not in said


@pytest.mark.parametrize("waits", [True, False])
def test_a_tensor_that_changes_before_its_send_is_over_is_refused(waits):
    def ring_sum(comm, tensor):
        total, parcel = tensor.clone(), tensor.clone()
        for _ in range(comm.world_size - 1):
            sending = comm.isend(parcel, (comm.rank + 1) % comm.world_size)
            incoming = torch.empty_like(tensor)
            comm.recv(incoming, (comm.rank - 1) % comm.world_size)
            if waits:
                sending.wait()
            parcel.copy_(incoming)
            total += incoming
        tensor.copy_(total)

    report = check(RING, ring_sum)
    assert report.points == (3 if waits else 0)  # the whole tensor goes round: a point for the bytes
    assert ("nothing had waited for that" in repr(report)) is not waits


def test_what_the_course_has_is_refused_wherever_it_is_used():
    def helper(comm, tensor):
        return ring_all_reduce(comm, tensor)

    def inside(comm, tensor):
        from course_lib.collectives import ring_all_reduce

        ring_all_reduce(comm, tensor)

    def as_a_module(comm, tensor):
        from course_lib import data_parallel

        data_parallel.average(comm, tensor)

    def with_a_library(comm, tensor):
        import scipy.special as special

        return special.softmax(tensor)

    def with_a_name_like_one(comm, tensor):
        return comm.requests

    assert "scipy.special is not there under grading: an answer has torch" in repr(check(RING, with_a_library))
    assert "has no attribute 'requests'" in repr(check(RING, with_a_name_like_one))
    assert "course_lib.collectives.ring_all_reduce is not there" in repr(check(RING, ring_all_reduce))
    assert "course_lib.collectives.ring_all_reduce is not there" in repr(check(RING, helper))
    assert "course_lib.collectives is not there" in repr(check(RING, inside))
    assert "course_lib.data_parallel is not there" in repr(check(RING, as_a_module))


def test_a_progress_bar_is_no_library_to_lean_on():
    ring = _function(RIGHT)

    def with_a_bar(comm, tensor):
        from tqdm.std import tqdm

        for _ in tqdm([1], disable=True):
            ring(comm, tensor)

    assert check(RING, with_a_bar).ok


def test_what_has_not_run_at_all_is_said_so():
    async def later(comm, tensor):
        return tensor

    def one_by_one(comm, tensor):
        yield tensor

    assert "the function is an async def" in repr(check(RING, later))
    assert "the function has a yield in it" in repr(check(RING, one_by_one))
    assert "SystemExit" in repr(check(RING, lambda comm, tensor: exec("raise SystemExit(0)")))


def test_each_call_is_looked_at_as_it_was_when_it_returned():
    seen = []

    def growing(n):
        seen.append(n)
        return seen

    cases = lambda rng: [Case(1, [(1,), (2,)], [[1], [2]], label="calls")]  # noqa: E731
    one = Exercise("98b", "Calls", "growing", 1, cases, answer="return", mode="function")
    assert "growing(2) gave 2 values where 1 are right" in repr(check(one, growing))


# What is copied, and what cannot be.
@pytest.mark.parametrize("kept", ["0", "__import__('_thread').allocate_lock()", "(number for number in ())"])
def test_no_case_has_the_globals_of_another(kept):
    cases = lambda rng: [Case(1, [(2,), (3,)], [2, 3], label="calls") for _ in range(2)]  # noqa: E731
    one = Exercise("98b", "Calls", "wise", 1, cases, answer="return", mode="function")
    names = {}
    exec(
        f"calls, kept = [], {kept}\ndef wise(n):\n    calls.append(kept)\n    return n if len(calls) < 3 else 0", names
    )
    assert check(one, names["wise"]).ok


@pytest.mark.parametrize("has_one", [True, False])
def test_a_notebook_has_its_own_names_again_after_a_check_with_stand_ins(has_one):
    cases = lambda rng: [Case(1, [(2,)], [4], label="helped")]  # noqa: E731
    one = Exercise("98b", "Helped", "twice", 1, cases, answer="return", mode="function", stand_ins="helper = abs")
    names = {"helper": len} if has_one else {}
    exec("def twice(n):\n    return helper(n) + n", names)
    before = dict(names)
    assert check(one, names["twice"]).ok
    assert names == before


class _Lying(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *_):
        return torch.zeros(1)


@pytest.mark.parametrize("mode", ["function", "ranks"])
def test_a_tensor_is_judged_by_its_numbers_whatever_its_class_says(mode):
    cases = lambda rng: [Case(1, [()], [torch.zeros(1)], label="zero")]  # noqa: E731
    one = Exercise("98b", "Zero", "zero", 1, cases, answer="return", mode=mode)
    assert "[1]" in repr(check(one, lambda *_: torch.ones(1).as_subclass(_Lying)))
    assert check(one, lambda *_: torch.nn.Parameter(torch.zeros(1))).ok


class _Never:
    """An object that does not end, whatever it is asked."""

    def __eq__(self, other):
        while True:
            pass

    __float__ = __bool__ = __len__ = __iter__ = __hash__ = tolist = lambda self: self == 1


class _EndlessList(list):
    def __iter__(self):
        while True:
            yield 1


@pytest.mark.parametrize("mode", ["function", "ranks"])
@pytest.mark.parametrize("expected", [1, True, [1], "F0", torch.ones(1), torch.ones(2)])
def test_no_method_of_what_an_answer_gives_runs_once_it_has_given_it(expected, mode):
    one = Exercise("98b", "One", "one", 1, lambda rng: [Case(1, [()], [expected])], answer="return", mode=mode)
    assert "gave _Never where" in repr(check(one, lambda *_: _Never()))
    assert "gave a generator of more than 10000 values: has it an end?" in repr(check(one, lambda *_: _EndlessList()))


def test_a_result_that_the_judge_cannot_read_is_told_so():
    one = Exercise("98b", "One", "one", 1, lambda rng: [Case(1, [()], [1])], answer="return", mode="function")
    assert "its result cannot be read by the judge (OverflowError" in repr(check(one, lambda: 10**400))


def test_a_diagnosis_speaks_in_place_of_the_numbers():
    def own(case: Case, outcome: Outcome):
        if outcome.failure is None and torch.equal(outcome.values[0], case.inputs[0][0]):
            return "nothing was added"

    def stumbles(case, outcome):
        return outcome.values[7]

    (finding,) = check(replace(RING, diagnoses=(stumbles, own)), lambda comm, tensor: None).findings
    assert finding.text == "nothing was added"


def test_the_report_is_html_that_unfolds_and_escapes():
    page = check(RING, lambda comm, tensor: comm.world_size == 1 or {}["<script>"])._repr_html_()
    assert "<script>" not in page
    assert page.count("<details>") == 2  # the second hint inside the first
    assert "hint 2" in page
    assert "var(--jp-" in page


def test_hints_come_one_by_one():
    assert repr(hint(RING, 1)) == "Hint 1 of 2: Cut the tensor into world_size chunks."
    assert repr(hint(RING, 3)) == "Exercise 99a has 2 hints."


def test_the_same_check_twice_says_the_same():
    wrong = lambda comm, tensor: tensor.zero_()  # noqa: E731
    assert repr(check(RING, wrong)) == repr(check(RING, wrong))


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="needs your function, got int"):
        check(RING, 3)


def test_a_plain_function_is_shown_with_its_arguments():
    cases = lambda rng: [Case(1, [(10, 2), (3, 3)], [20, 9], label="cost")]  # noqa: E731
    one = Exercise("98b", "Cost", "cost", 1, cases, answer="return", mode="function")
    assert check(one, lambda n, p: n * p).ok
    assert "cost: cost(10, 2) gave 12 where 20 is right" in repr(check(one, lambda n, p: n + p))
    assert "gave nothing (None) where 20 is right" in repr(check(one, lambda n, p: None))
    told = replace(one, diagnoses=(lambda case, outcome: f"Divide later. {outcome.failure.text}",))
    report = check(told, lambda n, p: 20 // (n - 3))
    assert "cost: Divide later. cost(3, 3) raised ZeroDivisionError" in repr(report)


@pytest.mark.parametrize(
    ("expected", "value", "words"),
    [
        (torch.ones(3), torch.ones(2), "holds a tensor of shape (2,), expected was (3,)"),
        (torch.ones(3), None, "gave nothing (None) where [1, 1, 1] is right"),
        (torch.ones(1), torch.tensor([float("nan")]), "holds [nan] where [1] is right"),
        ([1, 2], [1], "gave 1 values where 2 are right"),
        ([1, 2], torch.ones(3), "gave a tensor of shape (3,) where 2 values are right"),
        ([1, 2], torch.tensor([1, 3]), "gave 3 where 2 is right (value 1 of those returned)"),
        (True, False, "gave False where True is right"),
        ([1, 2], [1, 3], "gave 3 where 2 is right (value 1 of those returned)"),
        (1.0, "one", "gave str where 1 is right"),
        (9, 10**400, "gave int where 9 is right"),
        (torch.ones(2), torch.ones(2, dtype=torch.complex64), "gave Tensor where"),
        (lambda value: value.nothing, 3, "has not the right form"),
    ],
)
def test_each_kind_of_difference_has_its_words(expected, value, words):
    assert words in difference(expected, value)


def test_a_tolerance_is_relative_and_exact_without():
    assert difference(1e6, 1e6 + 1, tolerance=1e-5) is None
    assert difference(torch.ones(2), torch.ones(2, dtype=torch.float64)) is None
    assert difference(1.0, 1.0 + 1e-12) is not None


NAMES = {"__name__": "__main__", "torch": torch, "functools": functools}
ADDS = "def adds(*_): return 1\nclass Adds:\n    def __call__(self, *_): return 1\n    run = __call__\n"
ADDS += "class Layer(torch.nn.Module):\n    def forward(self, *_): return 1\n"


@pytest.mark.parametrize(
    "made", ["adds", "Adds()", "Adds().run", "functools.partial(adds, 1)", "functools.cache(adds)", "Layer()"]
)
def test_stand_ins_reach_an_answer_of_any_form(made):
    names = dict(NAMES)
    exec(ADDS, names)
    assert _globals_of(eval(made, names)) is names


@pytest.mark.parametrize("cache", ["functools.cache", "functools.lru_cache(maxsize=8, typed=True)"])
def test_a_cached_helper_reads_the_globals_that_the_answer_sets(cache):
    names = dict(NAMES)
    source = f"@{cache}\ndef down(n): return table[n] + (down(n - 1) if n else 0)\n"
    exec(f"{source}def answer(values):\n    global table\n    table = values\n    return down(len(values) - 1)", names)
    module = SimpleNamespace(**names)
    exercise = Exercise(
        "97a", "Seven", "answer", 1, lambda rng: [Case(1, [([3, 4],)], [7])], mode="function", answer="return"
    )
    assert module.down.__module__ == "__main__"
    assert check(exercise, names["answer"]).findings == []
    assert "table" not in names
