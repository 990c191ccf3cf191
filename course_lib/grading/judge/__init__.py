"""The side that decides: it starts ranks behind walls, routes their messages and grades what comes of it.

None of a student's code ever runs here. Read in this order: `protection` (which walls there are), `launcher` (ranks
behind them), `peer` (one rank as the judge knows it), `requests` (what it may ask), `trial` (one run, judged),
`patience` (how long that may take), `attempts` (tried again where something else ended it), `perturb` (a message
changed on its way), `readings` (which cells an answer runs on), `session` (all trials of one answer on one of them),
`grader` (its points). The other side is
`course_lib.grading.sandbox`.
"""
