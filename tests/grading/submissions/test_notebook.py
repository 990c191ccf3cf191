"""A submission's cells, read without trust."""

import json
from types import SimpleNamespace

import nbformat
import nbformat.v4 as nbf
import pytest

from course_lib.grading.sandbox import magics
from course_lib.grading.submissions.files import Unreadable
from course_lib.grading.submissions.folder import chapters_in
from course_lib.grading.submissions.notebook import MAX_LISTS, cells_for, cells_of, defines, similar, why_missing


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
        (b"{}", "not a notebook: it has no list of cells"),
        (b"[1]", "not a notebook: it is JSON of another kind"),
        (b'{"cells": 1}', "not a notebook: it has no list of cells"),
        (b'{\n"a": "it\x92s"}', "not a notebook: a letter in line 2 is not in UTF-8; save it as UTF-8"),
        (b"[" * 100_000, "not a notebook: lists within lists, deeper than any notebook has"),
        (b'{"cells": [' + b"1" * 5000, "not a notebook: it has a number that is too long"),
        (b"PK\x03\x04...", "not a notebook, but a zip archive under a notebook's name: unpack it"),
        (b"%PDF-1.7", "not a notebook, but a PDF under a notebook's name"),
        (b"\n<!DOCTYPE html>", "not a notebook, but a web page under a notebook's name: download the notebook itself"),
        (b"{\n<<<<<<< HEAD\n", "line 2 is no JSON; two versions were merged and not reconciled?"),
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


F = "def f(): pass"
NEW = nbf.new_code_cell(F)
ODD = {  # cells as editors, converters and merges left them
    "no source": {"cell_type": "code"},
    "source is null": NEW | {"source": None},
    "source is a number": NEW | {"source": 3},
    "lines": NEW | {"source": ["def g():\n", "    pass"]},
    "lines of several kinds": NEW | {"source": ["x = 1", None, 2]},
    "no metadata": {"cell_type": "code", "source": "x = 1", "outputs": []},
    "metadata is null": NEW | {"metadata": None},
    "metadata is a list": NEW | {"metadata": []},
    "tags are null": NEW | {"metadata": {"tags": None}},
    "tags are a text": NEW | {"metadata": {"tags": "setup"}},
    "tags of several kinds": NEW | {"metadata": {"tags": [1, None, "setup", {}]}},
    "no kind": {"source": "x = 1", "outputs": []},
    "no kind and no outputs": {"source": "x = 1"},
    "a kind of its own": {"cell_type": "sql", "metadata": {}, "source": "select"},
    "kind is null": {"cell_type": None, "source": "x"},
    "raw": nbf.new_raw_cell("raw"),
    "heading": {"cell_type": "heading", "level": 1, "source": "x"},
    "no outputs": {"cell_type": "code", "metadata": {}, "source": "x = 1"},
    "outputs are null": NEW | {"outputs": None},
    "half a surrogate": NEW | {"source": "x = '\ud800'"},
    "a number": 3,
    "a list": [],
    "null": None,
}


def told(content):
    return json.dumps(content).encode()


def jupyter_s(data):
    """The code that Jupyter opens; nothing where it opens nothing."""
    try:
        cells = nbformat.reads(data.decode("utf-8-sig"), as_version=4).cells
        return [
            cell.get("source", "").encode("utf-8", "replace").decode() for cell in cells if cell.cell_type == "code"
        ]
    except Exception:
        return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("minor", [None, 0, 4, 5, 9])
@pytest.mark.parametrize("name", ODD)
def test_one_odd_cell_costs_no_other_and_says_what_jupyter_reads_in_it(name, minor):
    version = {"metadata": {}, "nbformat": 4, "nbformat_minor": minor} if minor is not None else {}
    for cells in ([NEW, ODD[name]], [ODD[name], NEW]):
        data = told({"cells": cells} | version)
        found = [source for _, source in cells_of(data)]
        assert F in found
        assert minor is None or jupyter_s(data) in (None, found)


def sheet(**cell):
    return {
        "worksheets": [{"cells": [{"cell_type": "code", "language": "python", "outputs": []} | cell]}],
        "metadata": {},
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "content",
    [
        {"nbformat": 3, "nbformat_minor": 0} | sheet(input="def g():\n    pass"),
        {"nbformat": 3, "nbformat_minor": 0} | sheet(input=["def g():\n", "    pass"]),
        {"nbformat": 3, "nbformat_minor": 0} | sheet(input=["def g():", "    pass"]),
        {"nbformat": 2} | sheet(input="def g():\n    pass"),
        {"nbformat": 1, "cells": [{"cell_type": "code", "code": "def g():\n    pass"}]},
    ],
)
def test_older_formats_say_what_jupyter_reads_in_them(content):
    for data in (told(content), b"\xef\xbb\xbf" + told(content)):
        assert [source for _, source in cells_of(data)] == jupyter_s(data) == ["def g():\n    pass"]


def test_a_notebook_is_read_in_each_encoding_of_json():
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-32"):
        content = json.dumps({"cells": [NEW | {"source": "s = 'ü'"}]}, ensure_ascii=False)
        assert cells_of(content.encode(encoding)) == [([], "s = 'ü'")]


MISSING = {  # the cells, and what a student hears of `f` who wrote it all the same
    "timed": (["x", "%%timeit -n1\n" + F], "code cell 2 defines it under %%timeit, which keeps no names"),
    "another shell": (["%%python3\n" + F], "code cell 1 defines it under %%python3"),
    "written to a file": (["\n%%writefile f.py\n" + F], "code cell 1 defines it under %%writefile"),
    "in a function": (
        [f"def outer():\n    {F}"],
        "code cell 1 has it only below `def outer():`: move it to the left edge",
    ),
    "in a class": ([f"class A:\n\t{F}"], "code cell 1 has it only below `class A:`"),
    "below an if": (["if READY:  # not yet\n    x = 1\n    " + F], "only below `if READY:  # not yet`"),
    "in a text": ([f'"""\n{F}\n"""'], "code cell 1 has it within quotes or brackets"),
    "behind a #": (["x = 1\n# " + F], "code cell 1 has it behind a #"),
    "deleted": ([F, "x = 1\ndel x, f"], "code cell 2 deletes it: take `del x, f` away"),
    "something else": ([F, "f = 3"], "code cell 2 gives its name to what cannot be called"),
    "in Markdown": ([nbf.new_markdown_cell("## a\n" + F)], "a markdown cell has it: make that a code cell"),
    "in a raw cell": ([nbf.new_raw_cell(F)], "a raw cell has it: make that a code cell"),
    "quoted on the page": ([nbf.new_markdown_cell(f"```python\n{F}\n```")], ""),
    "in other capitals": (["def F(): pass"], "F is there: which name did it have?"),
    "asked for": (["f(3)", "g = 1"], ""),
}


@pytest.mark.parametrize("name", MISSING)
def test_of_an_answer_that_is_there_and_does_not_count_the_cause_is_said(name):
    cells, words = MISSING[name]
    cells = [nbf.new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    found = why_missing(cells_for(cells_of(told({"cells": [*cells, nbf.new_code_cell("y = 1")]})), "f"), "f")
    assert words in found
    assert bool(words) == bool(found)
    assert "f is there" not in found


def test_of_two_causes_the_one_is_said_that_still_holds():
    cells = cells_for([([], "# " + F), ([], F), ([], "del f")], "f")
    assert why_missing(cells, "f") == "; code cell 3 deletes it: take `del f` away"


@pytest.mark.timeout(20)
def test_causes_are_found_in_time_that_grows_with_the_text_alone():
    for text in ("    def f(): pass\n", "# def f\n", "del f\n", "f =\n", "'''def f\n", "\tdef f("):
        why_missing([("other", text * 50_000)], "f")


@pytest.mark.timeout(20)
def test_a_name_like_the_wanted_one_is_found_in_time_that_grows_with_the_text_alone():
    assert similar([("other", "x = 1\n    def ring_sun(): pass")], "ring_sum") == "ring_sun"
    assert similar([("other", F), ("other", "def ff(): pass")], "f") == "ff"
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
    assert chapters_in([([], source)], "work") == ["05"]
    assert chapters_in([([], source)], "04_work") == ["04"]
    assert chapters_in([([], "def rows_of_rank(): pass")], "04_work") == ["05"]
    assert chapters_in([([], "x = 1")], "work") == []
