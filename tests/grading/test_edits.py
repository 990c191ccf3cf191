"""Mistakes as edits: what may stand in their text, and what is refused in words."""

from dataclasses import replace

import pytest

from course_lib.grading.exercise import Mistake
from course_lib.grading.exercises import find
from course_lib.grading.exercises.mistakes import by_call, read_mistakes, source_of

TEXT = r"""
[2] ... 3 steps are enough
    a = 1 -> a = 1\n    b = 2
    return a ->
or
    file one_by_one
"""


def test_points_words_of_others_edits_and_files_are_read():
    both, other = read_mistakes(TEXT)
    assert both == Mistake("3 steps are enough", (("a = 1", "a = 1\n    b = 2"), ("return a", "")), "", 2.0, told=False)
    assert other == Mistake("3 steps are enough", (), "one_by_one", 2.0, told=False)
    assert read_mistakes("") == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a sentence", "a sentence stands above edits, got 'a sentence' alone"),
        ("    a -> b", r"a sentence stands above edits, got \['a -> b'\] alone"),
        ("one\ntwo\n    a -> b", "got 'one' alone"),
        ("one\n    a = b", r"an edit is `old -> new`, got \['a = b'\]"),
    ],
)
def test_what_is_no_mistake_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        read_mistakes(text)


def test_what_an_edit_replaces_stands_in_the_solution():
    with pytest.raises(ValueError, match="06f: 'no such line' must stand in the solution"):
        source_of(find("06f"), Mistake("", (("no such line", ""),)))


def test_an_edit_of_what_is_not_there_is_told_where_a_mistake_is_looked_for():
    exercise = replace(find("06f"), mistakes=(Mistake("", (("no such line", ""),)),))
    with pytest.raises(ValueError, match="must stand in the solution"):
        list(by_call(exercise, ([7, 2], [30], 1)))
