"""Exercise 12h: from the collectives that each rank has begun, which rank is it that the others wait for?"""

from course_lib.grading.exercises.common import function_exercise

KINDS = ("sum", "gather", "broadcast", "scatter")
# Ranks, calls, what one rank does, and which rank it is.
FAULTS = ((3, 4, "other", 1), (4, 7, "stops", 3), (5, 6, "skips", 0), (3, 5, "more", 2), (4, 3, "never", 0))


def hangs(rng):
    """Ranks that stop early or never begin, leave one out, make one more or exchange two; the first rank, the next one
    and the last; ranks in other lines; and none."""
    for ranks, calls, fault, guilty in FAULTS:
        yield (_logs(rng, ranks, calls, fault, guilty),)
    usual = _calls(rng, 5)
    yield ([[[kind, line + rank] for kind, line in usual] for rank in range(4)],)
    yield (_logs(rng, 6, 9, "exchanges", int(rng.integers(6))),)


def _calls(rng, count):
    """Collectives of which no two neighbors are of one kind, in lines that differ."""
    kinds = rng.permutation(KINDS).tolist()
    lines = sorted(rng.choice(range(10, 90, 2), count, replace=False).tolist())
    return [[kinds[number % len(kinds)], line] for number, line in enumerate(lines)]


def _logs(rng, ranks, calls, fault, guilty):
    """Equal logs but for one rank's; in these all stand in one line but for rank 1, which has code of its own."""
    usual = _calls(rng, calls)
    logs = [[[kind, line + 100 * (rank == 1)] for kind, line in usual] for rank in range(ranks)]
    between = int(rng.integers(1, calls - 2)) if calls > 3 else 1
    at = {"skips": 0, "stops": calls - 1}.get(fault, between)  # the first call, and the last, may be the one
    log = logs[guilty]
    if fault == "never":
        log.clear()
    elif fault == "stops":
        del log[at:]
    elif fault == "exchanges":
        log[at : at + 2] = reversed(log[at : at + 2])
    elif fault == "skips":
        del log[at]
    elif fault == "more":
        log.insert(at, [log[at - 1][0], 7])
    else:
        log[at:] = [[kind, line + 1] for kind, line in reversed(log[at - 1 : at])] * (calls - at)
    return logs


MISTAKES = r"""
The others' lines may differ: what must agree is the kind of collective
    log[number][0] if -> tuple(log[number]) if
As many calls need not be the same calls: compare kinds, not how many there are
    kinds = [log[number][0] if number < len(log) else None for log in logs] -> kinds = [number < len(log) for log in logs]
Rank 0 may be the one: compare with what the others do
    Counter(kinds).most_common(1)[0][0] -> kinds[0]
or
    Counter(kinds).most_common(1)[0][0] -> kinds[0]
    if kind != usual -> if rank and kind != usual
The first number counts at which a rank differs, not the last: after that nothing fits any more
    range(max(map(len, logs))) -> reversed(range(max(map(len, logs))))
A rank that stops is found where its log ends: look up to the longest log
    range(max(map(len, logs))) -> range(min(map(len, logs)))
The line is that of the rank out of step, not of another rank
    last = logs[rank] -> last = logs[(rank + 1) % len(logs)]
The line is where it began another collective, not that of the one before
    last = logs[rank][: number + 1] -> last = logs[rank][:number]
"""

EXERCISE = function_exercise(
    __name__,
    calls=hangs,
    label="seven trainings that hang",
    mistakes=MISTAKES,
    hints="""
Go through the numbers, and look at all ranks' kinds side by side. At which number are they not all equal for the first time?
A log that is too short has nothing there, and nothing is another kind.
Which of the kinds do most ranks have? The one that has another is out of step; its line is in its own log.
""",
)
