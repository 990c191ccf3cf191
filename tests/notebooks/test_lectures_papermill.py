"""Each chapter runs from top to bottom by papermill, with another number of ranks than its author chose.

COURSE_WORLD_SIZE=8 make test-papermill    runs them with eight ranks on a bigger machine.
"""

import os
from pathlib import Path

import pytest
from pages import PAGES, execute, parameters_of, read_page

PARAMETERS = {"world_size": int(os.environ.get("COURSE_WORLD_SIZE", "3"))}

WITH_RANKS = [page for page in PAGES if "world_size" in parameters_of(page)]

pytestmark = [pytest.mark.lectures, pytest.mark.timeout(600)]


def _short_with_long() -> list[Path]:
    """First, last, second, last but one: two processes get two chapters each, and early chapters are short."""
    return [path for pair in zip(WITH_RANKS, reversed(WITH_RANKS), strict=True) for path in pair][: len(WITH_RANKS)]


@pytest.mark.parametrize("path", _short_with_long(), ids=lambda path: path.stem)
def test_chapter_runs_with_another_number_of_ranks(path: Path, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    execute(read_page(path, pytestconfig), tmp_path, PARAMETERS)
