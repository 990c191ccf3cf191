"""Runs cheats at one level of protection and prints what became of each: `python run_cheats.py LEVEL [NAME ...]`.

Needs to be a program of its own so that the tests can also start it as a user without rights.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from grading_example import RIGHT, RING, cells  # noqa: E402

from course_lib.grading.judge import protection  # noqa: E402
from course_lib.grading.judge.grader import Grader, Limits  # noqa: E402
from course_lib.grading.judge.launcher import Launcher  # noqa: E402

# After each cheat an honest answer is graded: 2 and 3 ranks, and once more with a changed message.
HONEST = replace(RING, cases=lambda rng: list(RING.cases(rng))[1:3])
CHEATS = sorted(path.stem for path in HERE.glob("[!_]*.py") if path.stem != Path(__file__).stem)


# What the walls let through nobody waits for in vain: there a busy machine may take its time.
AT_A_WALL, UNSAFE = Limits(cpu_s=1, timeout_s=4.0, exercise_s=3.0), Limits(cpu_s=10, timeout_s=60.0, exercise_s=60.0)


def submission(name: str, level: str) -> list[tuple[str, str]]:
    """A cheat's cells: the dummies' helper and the cheat, which is told where the course lies."""
    helper, cheat = ((HERE / f"{each}.py").read_text() for each in ("_whisper", name))
    if level == "unsafe":
        helper = helper.replace("monotonic() + 1", "monotonic() + 3")
    return [("other", helper), ("answer", cheat.replace("THE_COURSE", str(HERE.parents[2])))]


def main(level: str, names: list[str]) -> None:
    """Print lines of JSON: the walls, then each cheat's points and messages, and those of an honest answer."""
    with Launcher(protection.LEVELS[level]) as launcher:
        launcher.start()
        grader = Grader(launcher, limits=UNSAFE if level == "unsafe" else AT_A_WALL)
        print(json.dumps({"walls": launcher.walls.words(), "notes": launcher.notes, "user": os.geteuid()}), flush=True)
        for name in names or CHEATS:
            cheat, honest = grader.grade(RING, submission(name, level)), grader.grade(HONEST, cells(RIGHT))
            line = {"name": name, "points": cheat.points, "messages": cheat.messages, "honest": honest.points}
            most = {"judge_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}
            print(json.dumps(line | {"seconds": round(cheat.seconds, 2)} | most), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
