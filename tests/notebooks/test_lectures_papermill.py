"""Each chapter runs from top to bottom by papermill, with another number of ranks than its author chose.

COURSE_WORLD_SIZE=8 make test-papermill    runs them with eight ranks on a bigger machine.
"""

import os
from pathlib import Path

import papermill
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PARAMETERS = {"world_size": int(os.environ.get("COURSE_WORLD_SIZE", "3"))}
SHORTER = {"02_allreduce": {"largest_simulated_ring": 256}}  # nbval runs the longest

pytestmark = [pytest.mark.lectures, pytest.mark.timeout(600)]


def _short_with_long() -> list[Path]:
    """First, last, second, last but one: two processes get two chapters each, and early chapters are short."""
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    return [path for pair in zip(paths, reversed(paths), strict=True) for path in pair][: len(paths)]


@pytest.mark.parametrize("path", _short_with_long(), ids=lambda path: path.stem)
def test_chapter_runs_with_another_number_of_ranks(path: Path, tmp_path: Path) -> None:
    parameters = PARAMETERS | SHORTER.get(path.stem, {})
    known = papermill.inspect_notebook(str(path))
    assert set(parameters) <= set(known), f"a cell tagged `parameters` sets {', '.join(parameters)}"
    papermill.execute_notebook(
        str(path),
        str(tmp_path / path.name),
        parameters=parameters,
        kernel_name="python3",
        cwd=str(path.parent),
        progress_bar=False,
    )


def test_there_is_a_chapter() -> None:
    assert list(NOTEBOOKS.glob("*.ipynb"))
