"""How tests execute a chapter's page with other parameters than its author chose."""

import re
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest
from sidecars import with_claims

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PAGES = sorted(NOTEBOOKS.glob("*.ipynb"))
LECTURES = [page for page in PAGES if not page.stem.endswith("_more")]


def parameters_of(page: Path) -> set[str]:
    """The names that a cell tagged `parameters` sets."""
    cells = nbformat.read(page, as_version=4).cells
    sources = [cell.source for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    return {name for source in sources for name in re.findall(r"^(\w+) = ", source, re.MULTILINE)}


def read_page(page: Path, config: pytest.Config) -> nbformat.NotebookNode:
    """The page as a run of the tests executes it, with its claims: by day without those that read the real clock."""
    notebook = with_claims(page)
    if config.getoption("--by-day"):
        notebook.cells = [cell for cell in notebook.cells if "clock" not in cell.metadata.get("tags", [])]
    return notebook


def execute(notebook: nbformat.NotebookNode, folder: Path, parameters: dict[str, Any]) -> None:
    """Run a notebook from top to bottom, as if it lay among the others; raise what a cell raises."""
    page = folder / "page.ipynb"
    nbformat.write(notebook, page)
    papermill.execute_notebook(
        str(page),
        str(folder / "executed.ipynb"),
        parameters=parameters,
        kernel_name="python3",
        cwd=str(NOTEBOOKS),
        progress_bar=False,
    )
