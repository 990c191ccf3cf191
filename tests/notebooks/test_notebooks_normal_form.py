"""Committed notebooks hold what their author wrote and what their cells showed, and nothing of the run."""

import base64
import struct
import zlib
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_lib.draw import draw_bars
from course_lib.draw.style import words_below
from course_lib.notebooks import departures, execute, normal_form, normal_text, strip_png_metadata

ROOT = Path(__file__).parents[2]
COMMITTED = sorted(
    path for folder in ("notebooks", "solutions", "exercises") for path in (ROOT / folder).glob("*.ipynb")
)
CHAPTERS = [path for path in COMMITTED if path.parent.name == "notebooks"]


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


HEAD = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
BODY = png_chunk(b"IDAT", zlib.compress(b"\x00\x7f")) + png_chunk(b"IEND", b"")
WITH_TEXT = HEAD + png_chunk(b"tEXt", b"Software\x00Some version") + png_chunk(b"tIME", bytes(7)) + BODY


def noisy_notebook(run: int) -> nbformat.NotebookNode:
    """Return a notebook as two runs of the same cells would leave it: alike but for the noise of run 1 or 2."""
    pieces = ["ring\n", "tree\n"] if run == 1 else ["ring\ntree\n"]
    picture = base64.b64encode(WITH_TEXT if run == 1 else HEAD + BODY).decode() + "\n" * (run == 1)
    widget = {"model_id": f"{run:032x}", "version_major": 2, "version_minor": 0}
    outputs = [
        *(new_output("stream", name="stdout", text=piece) for piece in pieces),
        new_output("execute_result", {"text/plain": f"<Figure at 0x7f0000{run:06x}>"}, execution_count=7 * run),
        new_output("display_data", {"image/png": picture, "application/vnd.jupyter.widget-view+json": widget}),
    ]
    code = new_code_cell("show()", id="the-figure", outputs=outputs, execution_count=7 * run)
    code.metadata = nbformat.from_dict({"tags": ["kept"], "execution": {"iopub.status.busy": f"12:00:0{run}"}})
    notebook = new_notebook(cells=[new_markdown_cell("Question.", id="question"), code])
    notebook.metadata = nbformat.from_dict(
        {"language_info": {"name": "python", "version": f"3.11.{run}"}, "widgets": {"s": run}}
    )
    return notebook


def test_two_runs_of_the_same_cells_give_the_same_file() -> None:
    assert normal_text(noisy_notebook(run=1)) == normal_text(noisy_notebook(run=2))


def test_a_progress_bar_that_was_wiped_leaves_nothing_behind() -> None:
    bar = "\r 50%|█████     | 1/2 [00:00<00:00]\r100%|██████████| 2/2 [00:01<00:00]\r" + " " * 40 + "\r"
    outputs = [new_output("stream", name="stderr", text=bar), new_output("stream", name="stdout", text="done\n")]
    notebook = new_notebook(cells=[new_code_cell("show()", id="bar", outputs=outputs, execution_count=1)])
    assert [output.text for output in normal_form(notebook).cells[0].outputs] == ["done\n"]


def test_normal_form_keeps_ids_tags_text_and_picture() -> None:
    question, code = normal_form(noisy_notebook(run=1)).cells
    assert (question.id, code.id, code.metadata) == ("question", "the-figure", {"tags": ["kept"]})
    stream, result, picture = code.outputs
    assert stream.text == "ring\ntree\n"
    assert (result.data["text/plain"], result.execution_count) == ("<Figure at 0x…>", 1)
    assert base64.b64decode(picture.data["image/png"]) == HEAD + BODY


def test_the_words_of_a_picture_stand_below_it_once() -> None:
    data, metadata = draw_bars({"ring": 1.0}, "seconds", origin="computed").bundle()
    picture = new_output("display_data", data, metadata=metadata)
    notebook = new_notebook(cells=[new_code_cell("show()", id="bars", outputs=[picture], execution_count=1)])
    once = normal_form(notebook)
    _, below = once.cells[0].outputs
    assert below.data["text/html"] == words_below("Bars. ring: 1 s. (computed)")
    assert normal_form(once) == once


def test_normal_form_leaves_its_argument_alone() -> None:
    notebook = noisy_notebook(run=1)
    normal_form(notebook)
    assert notebook.cells[1].execution_count == 7
    assert len(notebook.cells[1].outputs) == 4


def test_normal_form_of_a_normal_form_is_itself() -> None:
    once = normal_text(noisy_notebook(run=1))
    assert normal_text(nbformat.reads(once, as_version=4)) == once


def test_a_picture_loses_its_texts_and_nothing_else() -> None:
    assert strip_png_metadata(WITH_TEXT) == HEAD + BODY


def test_a_picture_that_is_not_png_is_refused() -> None:
    with pytest.raises(ValueError, match="not a PNG file"):
        strip_png_metadata(b"GIF89a")


def test_departures_name_the_cell_and_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "noisy.ipynb"
    nbformat.write(noisy_notebook(run=1), path)
    assert departures(path) == [
        "notebook metadata: kernelspec, language_info, widgets",
        "cell 1 (the-figure): execution_count, metadata, outputs",
    ]
    path.write_text(normal_text(noisy_notebook(run=1)), encoding="utf-8")
    assert departures(path) == []


def test_an_executed_notebook_comes_out_the_same_twice(tmp_path: Path) -> None:
    path = tmp_path / "small.ipynb"
    cells = [new_code_cell("print('rank 0')", id="print"), new_code_cell("object()", id="address")]
    nbformat.write(new_notebook(cells=cells), path)
    path.write_text(normal_text(execute(path)), encoding="utf-8")
    first = path.read_text(encoding="utf-8")
    assert "<object at 0x…>" in first
    assert normal_text(execute(path)) == first


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_committed_notebook_is_in_normal_form(path: Path) -> None:
    assert departures(path) == [], "`course notebooks --no-execute PATH` writes it in normal form"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.name)
def test_committed_chapter_was_executed_to_its_end_without_an_error(path: Path) -> None:
    cells = [
        cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code" and cell.source.strip()
    ]
    assert [cell.id for cell in cells if cell.execution_count is None] == []
    assert [cell.id for cell in cells for output in cell.outputs if output.output_type == "error"] == []


def test_of_an_explorer_the_still_picture_stays_and_the_live_one_goes():
    from course_lib.widgets import Explorer, number

    bundles = Explorer(lambda ranks: f"{ranks} ranks", ranks=number("ranks", 2, 16, 4)).bundles()
    cell = new_code_cell("e", outputs=[new_output("display_data", data, metadata=more) for data, more in bundles])
    still, words = normal_form(new_notebook(cells=[cell])).cells[0].outputs
    assert (set(still.data), set(words.data)) == ({"image/png", "text/plain"}, {"text/html"})
