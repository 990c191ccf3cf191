"""Where the exercises come from: `solutions/` of a clone, or what `course build` packed of it beside this file."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "solutions"
PACK = Path(__file__).with_name("exercises.zip")
# A folder `solutions` of somebody's own may stand beside a copy of the package.
OTHER_PACK = os.environ.get("COURSE_EXERCISES", "")  # a variant's, in place of both
IS_CLONE = not OTHER_PACK and (FOLDER / "exercises" / "chapter_01" / "__init__.py").exists()
IN_USE = Path(OTHER_PACK) if OTHER_PACK else PACK
WHERE = FOLDER / "exercises" if IS_CLONE else IN_USE
VARIANT = "variant.txt"  # a pack's member with the name of the variant, if it is one
ANSWER = re.compile(r"^# %% (right|right by night|wrong): (\w+)\n", re.MULTILINE)
TITLE = re.compile(r'^## <a id="(\w)"></a>\w\) (.*)$', re.MULTILINE)
POINTS = re.compile(r"^\| \[(\w)\]\(#\w\) \|.*\| ([\d.]+) \|$", re.MULTILINE)
MARKERS = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION[^\n]*\n?", re.MULTILINE)
LIBRARY = "course_lib"  # what a page imports of it shows and runs; answers do without


def program(exercise_id: str) -> tuple[str, str]:
    """What stands above an exercise's solution (imports, what is given, earlier solutions), and the solution.

    Raises:
        KeyError: if the page has no such answer.
    """
    cells = notebook_cells(exercise_id[:2])
    mine = f"{exercise_id[2:]}-answer"
    if mine not in dict(cells):
        raise KeyError(f"the solutions of chapter {exercise_id[:2]} have no cell {mine!r}")
    above = cells[: [name for name, _ in cells].index(mine)]
    return "\n\n\n".join(source for _, source in above), dict(cells)[mine]


@cache
def notebook_cells(chapter: str) -> list[tuple[str, str]]:
    """(id, source) of the cells of a chapter's solutions that answers stand on, and of the answers."""
    if IS_CLONE:
        return _read_cells(chapter)
    return [(name, source) for name, source in json.loads(_packed(f"{chapter}.json"))]


def titles_of(text: str) -> dict[str, str]:
    """The title of each exercise of a page, by its letter: what its heading says."""
    return dict(TITLE.findall(text))


def points_of(text: str) -> dict[str, float]:
    """The points of each exercise of a page, by its letter: what the table in its first cell says."""
    return {letter: float(points) for letter, points in POINTS.findall(text)}


@cache
def page_text(chapter: str) -> str:
    """The headings of a chapter's solutions, and the rows of its table: where titles and points of exercises stand."""
    return _read_headings(chapter) if IS_CLONE else _packed(f"{chapter}.md")


def wrong_answer(exercise_id: str, name: str) -> str:
    """The source of a wrong answer that is no edit of the solution.

    Raises:
        KeyError: if the exercise has none of this name.
    """
    if not IS_CLONE:
        return _packed(f"{exercise_id}/{name}.py")
    found = dict(answers_of(exercise_id)["wrong"])
    if name not in found:
        raise KeyError(f'{FOLDER / "catalogue" / exercise_id}.py has no answer "# %% wrong: {name}"')
    return found[name]


@cache
def answers_of(exercise_id: str) -> dict[str, list[tuple[str, str]]]:
    """(name, source) of the answers that `solutions/catalogue` has: "right", "right by night" and "wrong".

    Each stands below a line such as "# %% right: with_numpy".
    """
    path = FOLDER / "catalogue" / f"{exercise_id}.py"
    found: dict[str, list[tuple[str, str]]] = {"right": [], "right by night": [], "wrong": []}
    parts = iter(ANSWER.split(path.read_text(encoding="utf-8"))[1:] if path.exists() else [])
    for kind, name, source in zip(parts, parts, parts, strict=True):
        found[kind].append((name, source.rstrip("\n") + "\n"))
    return found


def packed() -> bytes:
    """All of it as one archive, byte for byte the same every time: specifications, solutions, wrong answers."""
    return archive_of(members())


def members() -> dict[str, str]:
    """The text of each file of such an archive, by its name."""
    texts = {}
    for path in sorted((FOLDER / "exercises").rglob("*.py")):
        texts[path.relative_to(FOLDER / "exercises").as_posix()] = path.read_text(encoding="utf-8")
    for path in sorted(FOLDER.glob("*.ipynb")):
        texts[f"{path.name[:2]}.json"] = json.dumps(_read_cells(path.name[:2]))
        texts[f"{path.name[:2]}.md"] = _read_headings(path.name[:2])
    for path in sorted(FOLDER.glob("catalogue/*.py")):
        for name, source in answers_of(path.stem)["wrong"]:
            texts[f"{path.stem}/{name}.py"] = source
    return texts


def archive_of(texts: dict[str, str]) -> bytes:
    """An archive of these files, byte for byte the same every time."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            _add(archive, name, text)
    return data.getvalue()


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    entry = zipfile.ZipInfo(name)  # of 1980, so that the same files make the same archive
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, text)


def _packed(name: str) -> str:
    with zipfile.ZipFile(IN_USE) as archive:
        return archive.read(name).decode()


@cache
def variant() -> str:
    """The name of the variant whose exercises these are; empty for the public ones."""
    if IS_CLONE or not IN_USE.exists():
        return ""
    with zipfile.ZipFile(IN_USE) as archive:
        return archive.read(VARIANT).decode() if VARIANT in archive.namelist() else ""


def _cells_of(chapter: str, kind: str) -> list[dict[str, Any]]:
    (path,) = FOLDER.glob(f"{chapter}_*.ipynb")
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def _read_cells(chapter: str) -> list[tuple[str, str]]:
    return [(cell["id"], _as_program(cell)) for cell in _cells_of(chapter, "code") if _belongs(cell)]


def _read_headings(chapter: str) -> str:
    lines = [line for cell in _cells_of(chapter, "markdown") for line in "".join(cell["source"]).splitlines()]
    return "\n".join(line for line in lines if TITLE.match(line) or POINTS.match(line))


def _belongs(cell: dict[str, Any]) -> bool:
    tags = cell["metadata"].get("tags", [])
    return cell["id"] in ("setup", "given") or "given" in tags or "answer" in tags


def _as_program(cell: dict[str, Any]) -> str:
    source = MARKERS.sub("", "".join(cell["source"]))
    return _imports(source) if cell["id"] == "setup" else source


def _imports(source: str) -> str:
    """The imports of a page's first cell, without the library's."""
    found = [node for node in ast.parse(source).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = [node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name for node in found]
    return "\n".join(
        ast.unparse(node) for node, name in zip(found, names, strict=True) if name.split(".")[0] != LIBRARY
    )
