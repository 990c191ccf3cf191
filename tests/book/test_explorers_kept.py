"""What an explorer of the book can show is computed again only where something that it comes from has changed."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

BOOK = Path(__file__).parents[2] / "book"


@pytest.fixture
def explorers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The book's extension; `computed` has what it was asked to compute, which takes no time here."""
    spec = importlib.util.spec_from_file_location("explorers_of_the_book", BOOK / "explorers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.computed = []
    monkeypatch.setattr(module, "packed", lambda cell, most: module.computed.append((cell, most)) or cell.source)
    return module


def test_it_is_computed_once_and_again_when_its_cell_the_values_or_the_library_change(
    explorers: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = explorers.Cell("02-1", "AllReduceExplorer()", ("import torch",))
    assert [explorers.kept(cell, None, tmp_path) for _ in range(2)] == [cell.source] * 2
    assert len(explorers.computed) == 1
    for changed in (cell._replace(source="AllReduceExplorer(step=2)"), cell._replace(before=("import numpy",))):
        assert explorers.kept(changed, None, tmp_path) == changed.source
    assert len(explorers.computed) == 3
    explorers.kept(cell, 3, tmp_path)
    monkeypatch.setattr(explorers, "library", lambda: "another")
    explorers.kept(cell, 3, tmp_path)
    assert len(explorers.computed) == 5
    assert len(list(tmp_path.iterdir())) == 2  # of all values and of few, the newest each


def test_cells_whose_names_begin_alike_keep_each_its_own(explorers: ModuleType, tmp_path: Path) -> None:
    one, other = (explorers.Cell(name, name, ()) for name in ("02-1", "02-15"))
    for cell in (one, other, one, other):
        assert explorers.kept(cell, None, tmp_path) == cell.source
    assert len(explorers.computed) == 2


def test_the_hash_of_the_library_is_of_its_bytes(explorers: ModuleType, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(explorers, "ROOT", tmp_path)
    module = tmp_path / "course_lib" / "widgets" / "a.py"
    module.parent.mkdir(parents=True)
    hashes = set()
    for text in ("a = 1", "a = 2"):
        module.write_text(text)
        explorers.library.cache_clear()
        hashes.add(explorers.library())
    (tmp_path / "course_lib" / "grading").mkdir()
    (tmp_path / "course_lib" / "grading" / "b.py").write_text("b = 1")  # no explorer draws with it
    explorers.library.cache_clear()
    assert len(hashes) == 2
    assert explorers.library() in hashes
