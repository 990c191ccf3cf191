"""A name that is not there yet is explained by the cell that makes it."""

import json
import shutil
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel

from course_lib.desk.cells import who_makes

EXERCISES = sorted((Path(__file__).parents[2] / "exercises").glob("*.ipynb"))


def page(folder: Path, *sources: str) -> Path:
    path = folder / "page.ipynb"
    cells = [{"cell_type": "code", "metadata": {}, "source": [source]} for source in sources]
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": "x = 1"}, *cells]}))
    return path


@pytest.mark.parametrize("path", EXERCISES, ids=[path.stem for path in EXERCISES])
@pytest.mark.parametrize("name", ["check", "run"])
def test_of_what_every_exercise_needs_the_set_up_cell_is_named(path: Path, name: str) -> None:
    if f"{name}(" in path.read_text(encoding="utf-8"):
        assert who_makes(name, path).startswith(f"{name} is not there: the set-up cell of this notebook makes it, ")


@pytest.mark.parametrize(
    "source",
    ["x = 1", "def x(): ...", "class x: ...", "import x", "import x.y", "from a import b as x", "for x in []: ..."]
    + ["with a as x: ...", "if a:\n    b, (c, *x) = a", "(x := 1)", "async def x(): ...", "x: int = 1"],
)
def test_the_first_cell_that_binds_the_name_is_found(tmp_path: Path, source: str) -> None:
    assert "code cell 3." in who_makes("x", page(tmp_path, "%time y = x", "f(x)", source, "x = 2"))


@pytest.mark.parametrize("source", ["f = lambda x: 1", "[x for x in a]", "def f():\n    x = 1", "a.x = 1", "x[0] = 1"])
def test_what_only_looks_like_it_does_not_make_the_name(tmp_path: Path, source: str) -> None:
    assert who_makes("x", page(tmp_path, source)) == ""


def test_an_odd_cell_hides_no_other(tmp_path: Path) -> None:
    odd = [
        {},
        {"cell_type": "code"},
        {"cell_type": "code", "source": "\0"},
        {"cell_type": "code", "source": "-" * 99_999},
    ]
    path = tmp_path / "page.ipynb"
    path.write_text(
        "\ufeff" + json.dumps({"cells": [*odd, {"cell_type": "code", "source": "x = 1", "metadata": None}]})
    )
    assert "code cell 4." in who_makes("x", path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": [{}]}', '{"cells": [{"cell_type": "code"}]}'])
def test_of_what_is_no_notebook_nothing_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "page.ipynb").write_text(text)
    assert who_makes("x", tmp_path / "page.ipynb") == who_makes("x", tmp_path / "gone.ipynb") == ""


def test_a_kernel_says_it_below_the_error_and_only_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(EXERCISES[1], tmp_path / "work.ipynb")
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "work.ipynb"))
    manager, client = start_new_kernel()
    said: list[str] = []

    def run(source: str) -> str:
        said.clear()
        reply = client.execute_interactive(source, timeout=60, output_hook=lambda m: said.append(str(m["content"])))
        return reply["content"]["status"] + " " + " ".join(said)

    try:
        assert run("from course_lib.desk.cells import explain_name_errors; explain_name_errors()").startswith("ok")
        assert "NameError" in (told := run("check('02a')"))
        assert "the set-up cell of this notebook makes it" in told
        assert "is not there" not in run("nobody_makes_this")
        assert "is not there" not in run("def f():\n    print(x)\n    x = 1\nf()")  # a local name
        assert run("1 + 1").startswith("ok")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
