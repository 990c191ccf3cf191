"""Notebooks as files: execute one, and store it in a normal form, so that only what its author changed differs.

- `execute(path)` gives the notebook with fresh outputs;
- `normal_form(notebook)` gives a copy without run-to-run noise;
- `departures(path)` says, in plain words, where a committed notebook is not in that form.
"""

import base64
import copy
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

Notebook = Any  # nbformat.NotebookNode: a dictionary whose keys are also attributes

NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
RUN_METADATA = {"ExecuteTime", "execution", "papermill", "scrolled", "trusted", "collapsed"}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
EXPLORER_NOTE = 'class="explorer-note"'  # hides a dead explorer; without live ones there is nothing to hide

NOISE = [
    (re.compile(r"\bat 0x[0-9a-fA-F]{6,}"), "at 0x…"),
    (re.compile(r"[\w/.~-]*/ipykernel_\d+/\d+\.py"), "<cell>"),
]
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PNG_METADATA = {b"tEXt", b"iTXt", b"zTXt", b"tIME", b"eXIf"}


def execute(path: Path, *, timeout_s: int = 600) -> Notebook:
    """Return the notebook at `path` with fresh outputs, run by this environment's own kernel in the notebook's folder.

    Raises:
        nbclient.exceptions.CellExecutionError: at the first cell that raises.
    """
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    folder = {"metadata": {"path": str(path.resolve().parent)}}
    client = NotebookClient(
        notebook,
        timeout=timeout_s,
        iopub_timeout=60,  # of outputs that come late on a busy machine
        kernel_name="python3",
        resources=folder,
    )
    return client.execute()


def normal_form(notebook: Notebook) -> Notebook:
    """Return a copy of `notebook` that holds what its author wrote and what its cells showed, and nothing of the run.

    Cell ids stay. Dropped are timings, the kernel's version, memory addresses, the state and the random ids of widgets
    (the picture and the text that an explorer shows without a kernel stay) and the metadata inside PNG pictures. Cells
    that were executed are numbered in order, and text that a cell printed in several pieces is one piece. Of a line
    that was written over, as progress bars are, what stood there last stays. Below each picture stand its words, as
    they do where a cell has just shown it.
    """
    notebook = copy.deepcopy(notebook)
    notebook.metadata = nbformat.from_dict(
        {**{k: v for k, v in notebook.metadata.items() if k not in RUN_METADATA | {"widgets"}}, **NOTEBOOK_METADATA}
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    executed = 0
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k not in RUN_METADATA})
        if cell.cell_type != "code":
            continue
        if cell.execution_count is not None:
            executed += 1
            cell.execution_count = executed
        outputs = [_normal_output(output, cell.execution_count) for output in _merged(cell.outputs)]
        kept = [output for output in outputs if output.get("text", output.get("data", "shown"))]
        cell.outputs = list(_with_words(kept))
    return notebook


def normal_text(notebook: Notebook) -> str:
    """Return the text of the file that holds `notebook` in normal form."""
    return nbformat.writes(normal_form(notebook), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def departures(path: Path) -> list[str]:
    """Return where the notebook at `path` is not in normal form, one sentence a place; nothing where it is."""
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    if text == normal_text(notebook):
        return []
    normal = normal_form(notebook)
    found = [
        f"cell {index} ({before.get('id', 'without id')}): {', '.join(_differing_keys(before, after))}"
        for index, (before, after) in enumerate(zip(notebook.cells, normal.cells, strict=True))
        if before != after
    ]
    if notebook.metadata != normal.metadata:
        found.insert(0, f"notebook metadata: {', '.join(_differing_keys(notebook.metadata, normal.metadata))}")
    return found or ["the file's layout (indentation, order of keys or the newline at its end)"]


def strip_png_metadata(png: bytes) -> bytes:
    """Return the same picture without the text, the time and the camera data that a PNG file can carry.

    Raises:
        ValueError: if `png` does not begin as a PNG file does.
    """
    if not png.startswith(PNG_SIGNATURE):
        raise ValueError(f"not a PNG file: it begins with {png[:8]!r}")
    kept, position = [PNG_SIGNATURE], len(PNG_SIGNATURE)
    while position + 8 <= len(png):
        length, kind = struct.unpack(">I4s", png[position : position + 8])
        end = position + 12 + length  # length, kind, data, checksum
        if kind not in PNG_METADATA:
            kept.append(png[position:end])
        position = end
    return b"".join(kept)


def _differing_keys(before: dict[Any, Any], after: dict[Any, Any]) -> list[str]:
    return [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]


def _merged(outputs: list[Any]) -> list[Any]:
    """Join neighboring pieces of the same stream: where the kernel cut them depends on the clock."""
    merged: list[Any] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if last is not None and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            merged.append(copy.deepcopy(output))
    return merged


def _with_words(outputs: list[Any]) -> Iterator[Any]:
    for place, output in enumerate(outputs):
        yield output
        following = outputs[place + 1] if place + 1 < len(outputs) else {}
        alt = output.get("metadata", {}).get("image/png", {}).get("alt")
        if alt:
            from course_lib.draw.style import IN_WORDS, words_below

            if IN_WORDS not in following.get("data", {}).get("text/html", ""):
                yield nbformat.v4.new_output("display_data", {"text/html": words_below(alt)})


def _normal_output(output: Any, execution_count: int | None) -> Any:
    if output.output_type == "stream":
        output.text = _without_noise(_as_on_a_terminal(output.text))
    if output.output_type == "error":
        output.traceback = [_without_noise(line) for line in output.traceback]
    if output.output_type == "execute_result":
        output.execution_count = execution_count
    if "data" in output:
        output.data = nbformat.from_dict(
            {
                kind: _normal_data(kind, data)
                for kind, data in output.data.items()
                if kind not in (WIDGET_VIEW, WIDGET_STATE) and EXPLORER_NOTE not in data
            }
        )
    return output


def _normal_data(kind: str, data: Any) -> Any:
    if kind == "image/png":
        return base64.b64encode(strip_png_metadata(base64.b64decode(data))).decode("ascii")
    return _without_noise(data) if isinstance(data, str) else data


def _as_on_a_terminal(text: str) -> str:
    """Keep of each line what was written after its last carriage return; nothing if only blanks are left.

    >>> _as_on_a_terminal("begin\\n 50%|##  |\\r100%|####|\\r         \\rend\\n")
    'begin\\nend\\n'
    """
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
    return "" if "\r" in text and not "".join(lines).strip() else "\n".join(lines)


def _without_noise(text: str) -> str:
    for pattern, replacement in NOISE:
        text = pattern.sub(replacement, text)
    return text
