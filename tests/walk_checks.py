"""What holds in a copy of the course where the walks of `test_walks` were made; run there, as a script.

`python tests/walk_checks.py RESULTS` writes, for each of them, what was raised, or nothing.
"""

from __future__ import annotations

import doctest
import json
import runpy
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

POINTS, MISTAKE, NEW = "05a", "05f", "04h"  # exercises: one with other points, one with a mistake more, a new one
PAGES = ("solutions/04_model_parallelism.ipynb", "solutions/05_tensor_parallelism.ipynb")
TWICE = "A ring goes round twice: once to sum the gradients, once to hand them out"
SYMPTOM, SAID = "Steps are twice as long", "since I print the loss of every iteration the steps take twice the time"


def check_slider() -> None:
    from course_lib.widgets import RingExplorer

    explorer = RingExplorer()
    before, shown = explorer.in_words, [view.value for view in explorer.views]
    explorer.set(layers=2)
    assert explorer.controls["layers"].description == "layers"
    assert any(control is explorer.controls["layers"] for control in _widgets(explorer.box))
    assert "each sends keys and values once" in RingExplorer.__doc__
    assert [view.value for view in explorer.views] != shown
    assert explorer.in_words != before or explorer.problem is None
    assert RingExplorer(layers=3).values["layers"] == 3


def _widgets(box: object) -> Iterator[object]:
    yield box
    for child in getattr(box, "children", ()):
        yield from _widgets(child)


def check_explorer() -> None:
    from course_lib import widgets

    assert "TreeExplorer" in widgets.EXPLORERS  # all that tests and benchmarks go through
    explorer = widgets.TreeExplorer(ranks=16)
    assert explorer.caption == "16 ranks take 40 µs."
    shown = [view.value for view in explorer.views]
    explorer.set(ranks=32)
    assert (explorer.caption, explorer.problem) == ("32 ranks take 50 µs.", None)
    assert [view.value for view in explorer.views] != shown


def check_function() -> None:
    from course_lib import pipeline

    assert pipeline.enough_micro_batches(4, 0.2) == 12
    _run_examples(pipeline.timing, "enough_micro_batches")


def _run_examples(module: ModuleType, name: str) -> None:
    examples = doctest.DocTestFinder(recurse=False).find(getattr(module, name), name, module)
    assert sum(doctest.DocTestRunner().run(each).attempted for each in examples) > 0
    assert doctest.DocTestRunner().summarize(verbose=False).failed == 0


def check_points() -> None:
    from click.testing import CliRunner

    from course_lib.cli import main
    from course_lib.grading.exercises import find, points_amiss
    from course_lib.grading.exercises.sources import PACK

    assert CliRunner().invoke(main, ["build"]).exit_code == 0
    assert find(POINTS).points == 4
    assert "31 points in all, 1 too many" in str(points_amiss(POINTS[:2]))
    for folder in ("solutions", "exercises"):
        task = _cell(Path(folder, Path(PAGES[1]).name), POINTS[2:])
        assert "`, 4 points" in task
    assert Path.cwd() in PACK.parents
    assert PACK.exists()


def _cell(path: Path, name: str) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return next("".join(cell["source"]) for cell in cells if cell["id"] == name)


def check_mistake() -> None:
    from course_lib.grading import check
    from course_lib.grading.exercises import find
    from course_lib.grading.exercises.mistakes import function_of

    exercise = find(MISTAKE)
    (mistake,) = (each for each in exercise.mistakes if each.text == TWICE)
    report = check(exercise, function_of(exercise, mistake))
    assert TWICE in str(report)
    assert len(exercise.hints) == 3


def check_exercise() -> None:
    from course_lib.grading import check
    from course_lib.grading.exercises import exercises_of, find
    from course_lib.grading.exercises.mistakes import function_of
    from course_lib.grading.exercises.sources import answers_of

    exercise = find(NEW)
    assert exercise in exercises_of(NEW[:2])
    assert (exercise.function, exercise.title, exercise.points) == ("halo_columns", "Columns of a halo", 3)
    assert check(exercise, function_of(exercise)).ok
    report = check(exercise, function_of(exercise, exercise.mistakes[0]))
    assert "asked for is the sum" in str(report)
    assert len(answers_of(NEW)["right"]) == 1
    assert "raise NotImplementedError" in _cell(Path("exercises", Path(PAGES[0]).name), f"{NEW[2:]}-answer")


def check_schedule() -> None:
    from course_lib.pipeline import OperationTimes, check_schedule, gpipe, pipeline_timeline, schedules, textbook_bubble

    assert [str(number) for kind, _, number in gpipe(2, 3).ranks[0] if kind == "B"] == ["0", "1", "2"]
    _run_examples(schedules, "gpipe")
    check_schedule(gpipe(4, 8))
    assert pipeline_timeline(gpipe(4, 8), OperationTimes(1.0, 1.0, 1.0)).idle == pytest.approx(textbook_bubble(4, 8))


def check_compressor() -> None:
    from course_lib import simulate
    from course_lib.compression import CompressedAllReduce, Half, compressors

    def program(comm):
        row = torch.full((4,), float(comm.rank + 1))
        CompressedAllReduce(Half())(comm, row)
        return row.tolist()

    report = simulate(program, 3)
    assert report.results == [[6.0] * 4] * 3
    assert {message.message_bytes for message in report.trace.messages} == {8}
    _run_examples(compressors, "Half")


def check_symptom() -> None:
    page = runpy.run_path("tests/notebooks/test_symptoms.py")
    (row,) = (each for each in page["ROWS"] if each[0].startswith(SYMPTOM))
    for name, test in page.items():
        if name.startswith("test_") and "tmp_path" not in test.__annotations__:
            test(*([row] if "row" in test.__annotations__ else []))
    told = runpy.run_path("tests/cli/test_symptoms_told.py")
    assert [begins for begins, texts in told["PARTS"] if SAID in texts] == [SYMPTOM]
    told["test_what_is_told_or_pasted_names_the_row_of_its_cause"](SYMPTOM, SAID)


CHECKS = {name.removeprefix("check_"): check for name, check in globals().items() if name.startswith("check_")}


def raised_by(name: str) -> str:
    try:
        CHECKS[name]()
    except BaseException:
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps({name: raised_by(name) for name in CHECKS}), encoding="utf-8")
