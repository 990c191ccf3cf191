"""Exercises that are graded on the wire and the result. Floor 4: nothing else in the course imports this.

For students, inside a notebook::

    from course_lib.grading import check, hint
    check("02a", my_all_reduce)      # runs it in the simulator, says what is wrong; decides no points
    hint("02a", 1)
    check_chapter("02", globals())   # all of them, those included whose cell has not run

For teachers: `course grade PATH`. For those who write exercises: `Exercise`, `Case`, `Rule` and friends in
`exercise`, ready-made rules in `rules`; the exercises stand in `solutions/exercises`.

How a grade comes about, one file each, to be read in this order:

1. `submissions.notebook` reads the cells of a submission and runs nothing.
2. `judge.grader` makes fresh cases, asks `judge.launcher` for ranks and `judge.trial` for a verdict on each.
3. `judge.launcher` keeps a zygote: a process that has loaded torch, no exercise and no algorithm, and forks ranks.
4. `sandbox` is what runs in those ranks, behind the walls of `sandbox.confine` and `sandbox.seccomp`.
5. `judge.trial` routes every message between ranks, on a virtual clock of its own, and counts.
6. `judge.perturb` changes a secret message, and says who must show it, and why that is fair.
7. `verdict` compares values and asks the rules; the notebook's check in `rehearsal` uses the same.
8. `submissions.gradebook` writes `grades.csv` and `grades.json`.

The process that decides never runs student code, and reads nothing from it but frames of raw bytes.
"""

from course_lib.grading.exercise import ANYTHING, Case, Exercise, Failure, Outcome, Part, Rule, whole_numbers
from course_lib.grading.rehearsal.check import CheckReport, check, check_chapter, hint
