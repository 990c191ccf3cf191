"""Each page's claims hold with other numbers of ranks and with other draws; the run's last lines count them.

.venv/bin/pytest -p no:nbval -m exhaustive tests/notebooks/test_claims.py -k 13    is one page by itself.
"""

import ast
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from claims import Claim, counted, read, table, with_records
from pages import PAGES, execute, parameters_of, read_page
from papermill.exceptions import PapermillExecutionError
from sidecars import with_claims

RANKS, SEEDS = (1, 2, 3, 5, 6), (1, 2, 3)


def _runs() -> list[Any]:
    by_ranks = [
        (page, {"world_size": ranks}) for page in PAGES if "world_size" in parameters_of(page) for ranks in RANKS
    ]
    by_seed = [(page, {"seed": seed}) for page in PAGES if "seed" in parameters_of(page) for seed in SEEDS]
    return [pytest.param(*run, id=f"{run[0].stem}-{_words(run[1])}") for run in sorted(by_ranks + by_seed, key=str)]


def _words(parameters: dict[str, int]) -> str:
    return ", ".join(f"{name}_{value}" for name, value in parameters.items())


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("page", "parameters"), _runs())
def test_claims_hold_beside_the_printed_path(
    page: Path,
    parameters: dict[str, int],
    tmp_path: Path,
    pytestconfig: pytest.Config,
    record_property: Callable[[str, object], None],
) -> None:
    notebook, where = read_page(page, pytestconfig), _words(parameters)
    try:
        execute(counted(notebook, tmp_path / "claims"), tmp_path, parameters)
        ends = []
    except PapermillExecutionError as error:
        cell = next(each.id for each in notebook.cells if each.source == error.source)
        ends = [Claim(page.stem, cell, f"(the page goes on) {error.ename}: {error.evalue[:80]}", where, False)]
    found = read(tmp_path / "claims", page.stem, where) + ends
    record_property("claims", [astuple(claim) for claim in found])
    if failed := [*table(claim for claim in found if not claim.held)]:
        pytest.fail("\n".join(failed), pytrace=False)


def run_cell(source: str, go_on: bool) -> list[tuple[str, bool]]:
    """What a cell's asserts write down."""
    written: list[tuple[str, bool]] = []

    def claim(cell: str, line: str, holds: object) -> object:
        written.append((line, bool(holds)))
        return holds

    try:
        exec(with_records(source, "cell", go_on), {"__claim__": claim})
    except AssertionError:
        written.append(("ended", False))
    return written


THREE = """\
x = 'é'; y = 1
assert x == 'é', 'a, b'
for i in (1, 2):
    assert i == (
        y
    )
assert 1 / y == 1
"""


def test_a_claim_that_fails_hides_the_next_only_where_it_ends_the_page() -> None:
    x, loop, last = "assert x == 'é', 'a, b'", "assert i == (", "assert 1 / y == 1"
    assert run_cell(THREE, go_on=True) == [(x, True), (loop, True), (loop, False), (loop, False), (last, True)]
    assert run_cell(THREE, go_on=False) == [(x, True), (loop, True), (loop, False), ("ended", False)]


def test_a_claim_that_cannot_be_computed_does_not_hold() -> None:
    assert run_cell("assert 1 / 0", go_on=True) == [("assert 1 / 0", False)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_all_asserts_of_a_page_are_counted(page: Path) -> None:
    for cell in with_claims(page).cells:
        if cell.cell_type == "code" and "assert " in cell.source:
            recorded = with_records(cell.source, cell.id, go_on=False)
            asserts = [node for node in ast.walk(ast.parse(recorded)) if isinstance(node, ast.Assert)]
            assert all(ast.unparse(node.test).startswith("__claim__(") for node in asserts), cell.id


def test_the_table_counts_and_says_where_it_failed() -> None:
    claims = [Claim("13_three", "order", "assert x", f"seed_{seed}", seed != 2) for seed in (1, 2, 3)]
    assert [*table(claims)] == [f"  2 of 3  13  {'order':<28} assert x   FAILED: seed_2"]
