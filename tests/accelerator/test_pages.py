"""By night: every page runs with COURSE_DEVICE=gpu where there is the stand-in, and what it asserts holds there."""

import os
from pathlib import Path

import pytest
from compiled import why_not
from pages import PAGES, execute, parameters_of, read_page

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_where_every_rank_has_a_device(page, ranks, tmp_path, pytestconfig, monkeypatch):
    if why := why_not():
        pytest.skip(why)
    if "world_size" not in parameters_of(page) and ranks > 2:
        pytest.skip("the page chooses its own numbers of ranks")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (HERE / "autoload", HERE, ROOT))))
    monkeypatch.setenv("COURSE_DEVICE", "gpu")
    notebook = read_page(page, pytestconfig)
    notebook.cells = [cell for cell in notebook.cells if "clock" not in cell.metadata.get("tags", [])]
    execute(notebook, tmp_path, {"world_size": ranks} if "world_size" in parameters_of(page) else {})
