"""Solutions with one token changed lose points, but for those that are equal in what the page asks for."""

from pathlib import Path

import pytest
from mutants.changes import changed
from one_token import equal_mutants, gets_all_points, survivors

from course_lib.grading.exercises import chapters, exercises_of, find
from course_lib.grading.exercises.sources import program

LISTED = [each for each in chapters() if (Path(__file__).parent / "mutants" / f"{each}.txt").exists()]


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)  # hundreds of answers, of which some do not end
@pytest.mark.parametrize("exercise_id", [exercise.id for chapter in LISTED for exercise in exercises_of(chapter)])
def test_a_token_changed_costs_points_or_is_listed_as_equal(exercise_id, grader):
    listed = equal_mutants(exercise_id[:2])
    found = [each for each in survivors(find(exercise_id)) if str(each) not in listed]
    assert [str(each) for each in found if gets_all_points(each, grader)] == []


@pytest.mark.parametrize("chapter", LISTED)
def test_what_is_listed_as_equal_is_a_change_of_a_solution_and_has_a_reason(chapter):
    changes = {
        f"{exercise.id}: {change}"
        for exercise in exercises_of(chapter)
        for change, _ in changed(program(exercise.id)[1])
    }
    listed = equal_mutants(chapter)
    assert listed.keys() <= changes, sorted(listed.keys() - changes)
    assert all(listed.values())
