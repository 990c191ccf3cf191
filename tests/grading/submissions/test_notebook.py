"""A submission's cells, read without trust."""

import json
from pathlib import Path
from types import SimpleNamespace

import nbformat.v4 as nbf
import pytest

from course_lib.grading.sandbox import magics
from course_lib.grading.submissions.files import Unreadable
from course_lib.grading.submissions.folder import Submission, _chapter
from course_lib.grading.submissions.notebook import MAX_LISTS, cells_for, cells_of, defines, similar


def notebook(*sources, outputs=()):
    cell = nbf.new_code_cell("def f(): pass", outputs=list(outputs))
    return json.dumps(nbf.new_notebook(cells=[cell, *map(nbf.new_code_cell, sources)])).encode()


def test_a_function_is_found_by_its_definition_alone():
    cells = [(["setup"], "import torch"), ([], "x = 1"), ([], "def f(a):\n    pass"), ([], "if x:\n    def f(a): pass")]
    assert [kind for kind, _ in cells_for(cells, "f")] == ["setup", "other", "answer", "other"]


def test_fifty_megabytes_of_output_cost_nothing():
    output = nbf.new_output("stream", text="x" * (50 << 20))
    assert cells_of(notebook(outputs=[output])) == [([], "def f(): pass")]
    quoted = nbf.new_output("stream", text='"ab"' * (5 << 20))  # one text, however many quotes it has
    assert cells_of(notebook(outputs=[quoted])) == [([], "def f(): pass")]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            b'{"cells": [{"cell_type": "code", "source": "def f',
            "not a notebook: line 1 is no JSON; was the file cut short",
        ),
        (b"{}", "not a notebook (KeyError)"),
        (b"\xff", "not a notebook (UnicodeDecodeError)"),
        (b"[" * 100_000, "not a notebook (RecursionError)"),
        (b"[" + b"[]," * MAX_LISTS, "more than 1,000,000 lists: clear the outputs"),
        (b"[" + b'"",' * 2_000_001, "more than 2,000,000 texts: clear the outputs"),
        (b"[" + b"1.5," * 4_000_001, "more than 4,000,000 values: clear the outputs"),
        (b'{"cells": []}', "a notebook without code"),
        (notebook(*["x"] * 2001), "more than 2000 cells or 1 MiB of code"),
        (notebook("x" * (2 << 20)), "more than 2000 cells or 1 MiB of code"),
    ],
)
def test_what_is_no_notebook_of_a_reasonable_size_says_why(data, words):
    with pytest.raises(Unreadable) as caught:
        cells_of(data)
    assert words in str(caught.value)


@pytest.mark.timeout(20)
def test_a_name_like_the_wanted_one_is_found_in_time_that_grows_with_the_text_alone():
    assert similar([("other", "x = 1\n    def ring_sun(): pass")], "ring_sum") == "ring_sun"
    assert similar([("other", "\n" * (1 << 20) + " " * (1 << 20))], "ring_sum") == ""
    assert similar([("other", "def a" + "a" * (1 << 20) + "(): pass\n")], "ring_sum") == ""
    assert similar([("other", "".join(f"def f{n}(): pass\n" for n in range(50_000)))], "ring_sum") == ""


@pytest.mark.parametrize("text", ["(", "()", "\n", "(\n", "'", "%\n", "\\\n", "def f\n", " "])
def test_where_a_function_is_defined_is_found_in_a_look_at_each_character(text, monkeypatch):
    """The work grows with the text: so many searches, for so many brackets, quotes and lines."""
    looks = []
    search = magics.OUTSIDE.search
    counted = lambda line, position: looks.append(1) or search(line, position)  # noqa: E731
    monkeypatch.setattr(magics, "OUTSIDE", SimpleNamespace(search=counted))
    for repeats in (1000, 2000):
        looks.clear()
        defines(f"def f{repeats}" + text * repeats, "f")
        assert len(looks) <= 3 * len(text) * repeats + 5


def test_a_chapter_is_known_by_its_functions_however_they_are_defined():
    source = "def g(*a): return 1\nglobals()['rows_of_rank'] = g"
    named = Submission("ann", Path("work.ipynb"), [([], source)])
    assert _chapter(named) == "05"
    assert _chapter(Submission("ann", Path("04_work.ipynb"), [([], source)])) == "04"
    assert _chapter(Submission("ann", Path("04_work.ipynb"), [([], "def rows_of_rank(): pass")])) == "05"
    assert _chapter(Submission("ann", Path("work.ipynb"), [([], "x = 1")])) == ""
