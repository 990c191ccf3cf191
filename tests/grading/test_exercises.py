"""The exercises of every chapter: each answer of the catalogues, as the judge and as the notebook see it."""

import re
from collections.abc import Callable
from dataclasses import replace

import nbformat
import numpy as np
import pytest
import torch
from exercise_answers import CATALOGUE, EXERCISES, RIGHT, SOLUTIONS, WRONG, Answer, as_parameters, cells_of, checked

from course_lib.cli.build import derived_text
from course_lib.comm.trace import Message, Trace
from course_lib.grading.exercises import CHAPTER_POINTS, chapters, exercises_of, find, points_amiss
from course_lib.grading.exercises.sources import answers_of
from course_lib.grading.judge.grader import Grade, Grader
from course_lib.grading.submissions import notebook
from course_lib.notebooks import execute

IDS = [exercise.id for chapter in chapters() for exercise in exercises_of(chapter)]


@pytest.fixture(scope="module")
def graded(grader: Grader) -> Callable[[Answer], Grade]:
    """Grades an answer, once."""
    grades: dict[Answer, Grade] = {}

    def grade(answer: Answer) -> Grade:
        if answer not in grades:
            grades[answer] = grader.grade(answer.exercise, cells_of(answer), "a student")
        return grades[answer]

    return grade


@pytest.mark.parametrize("answer", as_parameters(RIGHT))
def test_the_judge_gives_a_right_answer_all_points(answer, graded):
    grade = graded(answer)
    assert (grade.points, grade.messages) == (grade.most, [])


@pytest.mark.parametrize("answer", as_parameters(RIGHT))
def test_the_check_accepts_a_right_answer(answer):
    report = checked(answer)
    assert report.ok, report
    assert report.points == report.exercise.points


# What the check says of the others the judge says, too: all of them by night.
@pytest.mark.parametrize("answer", as_parameters(WRONG, most=3))
def test_the_judge_says_what_is_wrong(answer, graded):
    grade = graded(answer)
    assert grade.points < grade.most, f"{answer} gets all points: what it gives is right"
    assert answer.words in " | ".join(grade.messages)
    assert grade.points == answer.points


# Other numbers are drawn from another secret: no two mistakes may give the same by chance.
@pytest.mark.exhaustive
@pytest.mark.parametrize("secret", ["one", "222", "a third"])
@pytest.mark.parametrize("exercise_id", ["01c", "07f", "07g", "07h", "12d", "12h"])
def test_the_judge_says_the_same_of_other_numbers(exercise_id, secret, grader):
    other = Grader(grader.launcher, limits=grader.limits, secret=secret.encode())
    for answer in (each for each in WRONG if each.exercise_id == exercise_id):
        grade = other.grade(answer.exercise, cells_of(answer), "a student")
        assert answer.words in " | ".join(grade.messages), answer
        assert grade.points == answer.points, answer


# All of an exercise at a time: what its mistakes give is then computed once.
@pytest.mark.parametrize("exercise_id", IDS)
def test_the_check_says_the_same_as_the_judge_and_of_no_two_wrong_answers_the_same(exercise_id):
    answers = [each for each in WRONG if each.exercise_id == exercise_id]
    reports = {answer: checked(answer) for answer in answers}
    messages = {answer: " | ".join(map(str, report.findings)) for answer, report in reports.items()}
    other_words = {str(answer): messages[answer] for answer in answers if answer.words not in messages[answer]}
    other_points = {
        str(answer): reports[answer].points for answer in answers if reports[answer].points != answer.points
    }
    assert (other_words, other_points) == ({}, {})
    for answer in answers:
        others = [str(other) for other in answers if answer.words in messages[other] and other.words != answer.words]
        assert not others, (
            f"{answer.words!r}, which {answer} expects, is also said of {others}. All rules that are broken speak: "
            "expect words that this mistake's message alone has; its numbers will do"
        )


@pytest.mark.parametrize("exercise_id", IDS)
def test_an_exercise_has_four_mistakes_and_two_or_three_right_answers_at_least(exercise_id):
    wrong, right = ([each for each in answers if each.exercise_id == exercise_id] for answers in (WRONG, RIGHT))
    sentences = len({answer.words for answer in wrong})
    asked = (1, 1) if find(exercise_id).draft else (4, 2)
    has = f"{exercise_id} has {sentences} sentences on mistakes and {len(right)} right answers"
    enough = sentences >= asked[0] and len(right) >= asked[1]
    assert enough, f"{has}; {asked[0]} and {asked[1]} are asked for"


@pytest.mark.exhaustive
def test_no_exercise_is_a_draft():
    assert [exercise_id for exercise_id in IDS if find(exercise_id).draft] == []


def test_every_answer_of_the_catalogue_is_one_of_an_exercise_and_every_wrong_one_a_mistake():
    named = {exercise_id: {each.answer for each in find(exercise_id).mistakes} - {""} for exercise_id in IDS}
    assert {path.stem: {name for name, _ in answers_of(path.stem)["wrong"]} for path in CATALOGUE} == named


@pytest.mark.parametrize("exercise_id", [name for name in IDS if find(name).mode == "ranks"])
def test_cases_need_at_most_forty_ranks(exercise_id):
    cases = find(exercise_id).cases(np.random.default_rng())
    assert sum(case.world_size * (1 + case.perturb) for case in cases) <= 40


@pytest.mark.parametrize("exercise_id", [name for name in IDS if name != "01h"])  # which asks for an input
def test_fresh_cases_have_other_numbers_in_the_same_shapes(exercise_id):
    first, second = (list(find(exercise_id).cases(np.random.default_rng(seed))) for seed in (1, 2))
    assert [str(case) for case in first] == [str(case) for case in second]
    assert [str(case.inputs) for case in first] != [str(case.inputs) for case in second]


@pytest.mark.parametrize("exercise_id", [name for name in IDS if find(name).mode == "ranks"])
def test_an_exercise_counts_messages(exercise_id):
    exercise = find(exercise_id)
    case = next(case for case in exercise.cases(np.random.default_rng()) if case.world_size > 2)
    flood = Trace(case.world_size, [Message(0, 1, 4, 0.0, 0.0, 1) for _ in range(10_000)])
    said = [rule.check(case, flood) for rule in exercise.rules]
    assert any("all ranks together sent 10000 messages" in str(text) for text in said)


# Where messages are all but counted to the byte, two numbers must not fit into one.
TIGHT = ["01d", "01g", *(name for name in IDS if name[:2] in ("02", "03") and find(name).mode == "ranks")]


@pytest.mark.parametrize("exercise_id", TIGHT)
def test_inputs_do_not_pack_and_their_sums_are_exact(exercise_id):
    draws = [find(exercise_id).cases(np.random.default_rng(seed)) for seed in range(8)]
    for drawn in zip(*draws, strict=True):
        tensors = [each for case in drawn for inputs in case.inputs for each in _tensors(inputs) if each.numel()]
        largest = [tensor.abs().max().item() for tensor in tensors]
        assert not largest or max(largest) >= 2**14  # of a short one by chance
        assert all(torch.equal(tensor, tensor.round()) for tensor in tensors)
        for case in drawn:
            rows = [value for inputs in case.inputs for value in _tensors(inputs) if value.numel() and value.dim() == 1]
            assert sum(row.double().abs().max().item() for row in rows) < 2**25


def _tensors(value: object) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [each for item in value for each in _tensors(item)] if isinstance(value, (list, tuple)) else []


# The notebooks


@pytest.mark.parametrize("chapter", chapters())
def test_exercises_of_a_chapter_have_thirty_points(chapter):
    assert points_amiss(chapter) is None


def test_points_that_do_not_add_up_are_told_with_the_difference(monkeypatch):
    one = exercises_of("02")[0]
    two = replace(one, id="90a", points=28, draft=False), replace(one, id="90b", points=0.5, draft=False)
    monkeypatch.setattr("course_lib.grading.exercises.exercises_of", lambda chapter: two)
    assert "have 28.5 points in all, 1.5 too few: a chapter has 30 (90a 28, 90b 0.5)" in str(points_amiss("90"))


@pytest.mark.parametrize("exercise_id", IDS)
def test_the_solution_gets_all_points(exercise_id, grader):
    exercise = find(exercise_id)
    cells = notebook.cells_for(notebook.cells_of(SOLUTIONS[exercise_id[:2]].read_bytes()), exercise.function)
    grade = grader.grade(exercise, cells)
    assert (grade.points, grade.messages) == (exercise.points, [])


@pytest.mark.parametrize("exercise_id", IDS)
def test_what_students_get_is_not_attempted_yet(exercise_id, grader):
    exercise = find(exercise_id)
    cells = notebook.cells_for(notebook.cells_of(EXERCISES[exercise_id[:2]].read_bytes()), exercise.function)
    grade = grader.grade(exercise, cells)
    assert grade.points == 0
    assert grade.messages == ["not attempted yet: the function still raises NotImplementedError"]


@pytest.mark.parametrize("chapter", chapters())
def test_the_table_of_a_page_has_a_link_and_the_points_of_each_exercise_and_their_sum_thirty(chapter):
    cells = [cell.source for cell in nbformat.read(SOLUTIONS[chapter], as_version=4).cells]
    rows = re.findall(r"^\| \[(\w)\]\(#\1\) \|.*\| ([\d.]+) \|$", cells[0], re.MULTILINE)
    rows += re.findall(r"^\| \|( )\| \*\*([\d.]+)\*\* \|$", cells[0], re.MULTILINE)
    wanted = [(e.id[2:], f"{e.points:g}") for e in exercises_of(chapter)] + [(" ", str(CHAPTER_POINTS))]
    where = f"in solutions/{SOLUTIONS[chapter].name}, then `course build`"
    assert rows == wanted, (
        f"the table's points must be those of the exercises and {CHAPTER_POINTS} in all: change it {where}"
    )
    for exercise in exercises_of(chapter):
        letter = exercise.id[2:]
        assert sum(cell.startswith(f'## <a id="{letter}"></a>{letter}) ') for cell in cells) == 1
        tasks = sum(f"`{exercise.function}(" in cell and f", {exercise.points:g} points" in cell for cell in cells)
        assert tasks == 1, f"write `{exercise.function}(...)`, {exercise.points:g} points, in one cell {where}"


@pytest.mark.parametrize("chapter", chapters())
def test_exercises_are_in_step_with_solutions(chapter):
    derived = derived_text(SOLUTIONS[chapter])
    assert EXERCISES[chapter].read_text(encoding="utf-8") == derived, "`course build` makes them anew"


@pytest.mark.parametrize("chapter", chapters())
def test_no_solution_slips_into_the_exercises(chapter):
    cells = {cell.id: cell for cell in nbformat.read(EXERCISES[chapter], as_version=4).cells}
    answers = [cell.source for name, cell in cells.items() if cell.cell_type == "code" and name.endswith("-answer")]
    assert len(answers) == len(exercises_of(chapter))
    assert all(source.count("raise NotImplementedError") == 1 for source in answers)
    assert "solved" not in cells


@pytest.mark.slow
@pytest.mark.parametrize("chapter", chapters())
def test_the_notebook_runs_to_its_end_before_anything_is_written(chapter):
    cells = {cell.id: cell for cell in execute(EXERCISES[chapter]).cells}
    assert "0 of 30 points" in str(cells["total"].outputs)
