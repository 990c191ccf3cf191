"""What messages about one mistake have in common."""

import pytest

from course_lib.grading.judge.grader import Grade
from course_lib.grading.reports.classroom import frequent_mistakes, mistake_of
from tests.grading.exercise_answers import WRONG, checked

FEW = [answer for answer in WRONG if answer.exercise_id in ("04b", "06e", "08b", "11c")]


@pytest.mark.parametrize("answer", FEW, ids=str)
def test_a_wrong_answers_words_remain_whatever_was_drawn(answer):
    checked.cache_clear()
    first, second = mistake_of(str(checked(answer).findings[0])), mistake_of(str(checked(answer).findings[0]))
    assert first == second
    assert any(words in first for words in (answer.words.replace("rank 0", "a rank"), mistake_of(answer.words)))


def test_numbers_of_one_submission_are_left_out():
    here, there = (f"world_size 3, {n} elements: rank {n % 3} sent {n} bytes, 8 are enough: one step" for n in (5, 24))
    assert mistake_of(here) == mistake_of(there) == "a rank sent … bytes, … are enough: one step"


def test_the_most_frequent_mistake_comes_first_and_only_lost_points_count():
    lost = [Grade("02a", "", 0, 2, [f"case: rank {n} did nothing"]) for n in (0, 1)]
    others = [
        Grade("02b", "", 1, 2, ["too slow", "and more"]),
        Grade("02a", "", 2, 2, []),
        Grade("02a", "", 0, 2, ["?"], 0, "x"),
    ]
    assert frequent_mistakes([*others, *lost]) == [(("02a", "a rank did nothing"), 2), (("02b", "too slow"), 1)]
