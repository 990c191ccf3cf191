"""The side that decides: it starts ranks behind walls, routes their messages and grades what comes of it.

None of a student's code ever runs here. Read in this order: `protection` (which walls there are), `launcher` (ranks
behind them), `peer` (one rank as the judge knows it), `trial` (one run, judged), `perturb` (a message changed on its
way), `grader` (an exercise, from all its trials). `course_lib.grading.sandbox` is the other side.
"""
