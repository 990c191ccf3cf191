"""Mistakes as edits: what may stand in their text, and what is refused in words."""

from dataclasses import replace

import pytest
import torch

from course_lib.grading.exercise import Mistake
from course_lib.grading.exercises import find, mistakes
from course_lib.grading.exercises.mistakes import by_call, function_of, read_mistakes, source_of

TEXT = r"""
[2] ... 3 steps are enough
    a = 1 -> a = 1\n    b = 2
    return a ->
or
    answer one_by_one
"""


def test_points_words_of_others_edits_and_answers_are_read():
    both, other = read_mistakes(TEXT)
    assert both == Mistake("3 steps are enough", (("a = 1", "a = 1\n    b = 2"), ("return a", "")), "", 2.0, told=False)
    assert other == Mistake("3 steps are enough", (), "one_by_one", 2.0, told=False)
    assert read_mistakes("") == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a sentence", "below a sentence stand its edits, indented; got 'a sentence' alone"),
        ("    a -> b", r"below a sentence stand its edits, indented; got \['a -> b'\] alone"),
        ("one\ntwo\n    a -> b", "got 'one' alone"),
        ("one\n    a = b", r"an edit is `old -> new`, got \['a = b'\]"),
        ("gives {rank: sum}\n    a -> b", "what stands in braces is computed, got 'rank: sum' in 'gives {rank: sum}'"),
    ],
)
def test_what_is_no_mistake_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        read_mistakes(text)


def test_what_an_edit_replaces_stands_in_the_solution():
    with pytest.raises(ValueError, match="06f, 'adds': 'no such line' must stand in the solution"):
        source_of(find("06f"), Mistake("adds", (("no such line", ""),)))


def test_an_edit_of_what_is_not_there_is_told_where_a_mistake_is_looked_for():
    exercise = replace(find("06f"), mistakes=(Mistake("", (("no such line", ""),)),))
    with pytest.raises(ValueError, match="must stand in the solution"):
        list(by_call(exercise, ([7, 2], [30], 1)))


def test_what_a_mistake_gives_is_computed_once_for_equal_arguments_and_anew_for_others(monkeypatch):
    called = []

    def doubled(tensor):
        called.append(tensor.tolist())
        return 2 * tensor

    monkeypatch.setattr(mistakes, "made", lambda *sources: doubled)
    for tensor in (torch.ones(2), torch.ones(2), torch.zeros(2), torch.ones(2, dtype=torch.float64), torch.ones(2)):
        assert torch.equal(mistakes._given(find("06f"), ("", "doubled", "", ""), (tensor,)), 2 * tensor)
    assert called == [[1, 1], [0, 0], [1, 1]]


def test_no_call_of_the_solution_changes_what_the_next_one_gives():
    function_of(find("06f")).__globals__["min"] = max
    assert function_of(find("06f"))([3, 4, 2], [9, 1], 2) == 7
