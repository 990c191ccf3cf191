"""By night: every page runs with COURSE_DEVICE=gpu where there is the stand-in, and what it asserts holds there."""

import os
from pathlib import Path

import pytest
from compiled import why_not
from pages import PAGES, execute, parameters_of, read_page

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
# Pages whose own cells do not move what their programs take from outside of themselves.
NOT_YET = {
    "01_data_parallelism": "programs take `digits` from the page, on the processor",
    "05_tensor_parallelism": "programs take `whole` from the page, on the processor",
}
TOO_FEW = {("12_more", 2): "two ranks have no ring that avoids a link, on the processor either"}

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_where_every_rank_has_a_device(page, ranks, tmp_path, pytestconfig, request, monkeypatch):
    takes_ranks = "world_size" in parameters_of(page)
    if why := why_not() or TOO_FEW.get((page.stem, ranks)):
        pytest.skip(why)
    if ranks > 2 and not takes_ranks:
        pytest.skip("the page chooses its own numbers of ranks")
    if page.stem in NOT_YET:
        request.applymarker(pytest.mark.xfail(reason=NOT_YET[page.stem], strict=False))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (HERE / "autoload", HERE, ROOT))))
    monkeypatch.setenv("COURSE_DEVICE", "gpu")
    notebook = read_page(page, pytestconfig)
    notebook.cells = [cell for cell in notebook.cells if "clock" not in cell.metadata.get("tags", [])]
    execute(notebook, tmp_path, {"world_size": ranks} if takes_ranks else {})
