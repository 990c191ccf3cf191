"""A submission's cells, parsed without trust: what each is to an exercise, and why a function is missing. Runs nothing.

A notebook may make no function of a name that it seems to make: because of what stands around it, or another name.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator, Sequence

from course_lib.desk.cells import NoNotebook, NotebookCell, cells_in
from course_lib.grading.judge import as_python, begins_statement
from course_lib.grading.submissions.files import Unreadable

NO_CODE = "no code: "  # the kind of a cell that is none, before what it is
MAX_NAMES = 2000  # of functions to compare one with
MAX_NAME_LENGTH = 80
MAX_LINES = 20  # that would define it, in one cell
MAX_QUOTE = 60
MAGIC = re.compile(r"\s*(%%\S+)")
HEAD = re.compile(r"(?:async\s+)?(?:def|class|if|elif|else|for|while|try|except|finally|with|match|case)\b")


def why_missing(cells: Sequence[tuple[str, str]], function: str) -> str:
    """Why none of these (kind, source) cells makes the function, as the end of a sentence; empty if nothing tells."""
    code = [(kind, source) for kind, source in cells if not kind.startswith(NO_CODE)]
    look = _lost if any(kind == "answer" for kind, _ in code) else _hidden
    found = itertools.chain(
        (why for number, (_, source) in enumerate(code, 1) for why in look(f"code cell {number}", source, function)),
        _elsewhere(cells, function),
    )
    return next((f"; {why}" for why in found), "")


def _elsewhere(cells: Sequence[tuple[str, str]], function: str) -> Iterator[str]:
    for kind, source in cells:
        if kind.startswith(NO_CODE) and _definition(function).search(source):
            yield f"a {kind.removeprefix(NO_CODE)} cell has it: make that a code cell (Esc, then Y) and run it"
    if other := similar(cells, function):
        yield f"{other} is there: which name did it have?"


def similar(cells: Sequence[tuple[str, str]], function: str) -> str:
    """A function whose name is this one with a slip, an addition or other capitals, if some cell defines one."""
    made = re.compile(r"[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)")
    found = [made.match(line) for _, source in cells for line in source.split("\n")]
    names = [match[1] for match in found if match and len(match[1]) <= MAX_NAME_LENGTH][:MAX_NAMES]
    names = [name for name in names if name != function]
    alike = [name for name in names if function in name or _letters(name) == _letters(function)]
    return next(iter([*alike, *difflib.get_close_matches(function, names, 1, cutoff=0.85)]), "")


def _letters(name: str) -> str:
    return name.replace("_", "").casefold()


def _definition(function: str) -> re.Pattern[str]:
    """A line that would define it: how far it is indented, and the # before it."""
    return re.compile(
        rf"^([ \t]*)(#[#> \t]*)?(?:async[ \t]+)?(?:def|class)[ \t]+{re.escape(function)}\b.*", re.MULTILINE
    )


def _lost(place: str, source: str, function: str) -> Iterator[str]:
    """What in this cell takes the function away again, which some cell defines."""
    name = re.escape(function)
    if taken := re.search(rf"^[ \t]*del\b.*\b{name}\b", source, re.MULTILINE):
        yield f"{place} deletes it: take `{taken[0].strip()[:MAX_QUOTE]}` away"
    if re.search(rf"^{name}[ \t]*(?::[^=\n]*)?=[^=]", source, re.MULTILINE):
        yield f"{place} gives its name to what cannot be called"


def _hidden(place: str, source: str, function: str) -> Iterator[str]:
    """What in this cell keeps the lines that would define the function from doing so."""
    lines = list(itertools.islice(_definition(function).finditer(source), MAX_LINES))
    magic = MAGIC.match(source)
    if lines and magic and not as_python(source):
        yield f"{place} defines it under {magic[1][:MAX_QUOTE]}, which keeps no names: take that line away"
        return
    statements = set(begins_statement("\n".join(line.lstrip() for line in source.split("\n")))) if lines else ()
    for line in lines:
        if line[2]:
            yield f"{place} has it behind a #: take that away"
        elif line[0].lstrip() not in statements:
            yield f"{place} has it within quotes or brackets: take these away"
        elif head := _above(source[: line.start()], len(line[1])):
            yield f"{place} has it only below `{head[:MAX_QUOTE]}`: move it to the left edge"


def _above(before: str, indent: int) -> str:
    """The last line before it that is less indented and begins a block."""
    lines = (line for line in reversed(before.split("\n")) if line.strip())
    outer = (line.strip() for line in lines if len(line) - len(line.lstrip()) < indent)
    return next((line for line in outer if HEAD.match(line)), "")


MAX_CODE_BYTES = 1 << 20
MAX_CELLS = 2000
MAX_LISTS = 1_000_000  # and objects in a file, each of which takes some hundred bytes once it is read
MAX_TEXTS = 2_000_000  # in a file, of some sixty bytes each
MAX_VALUES = 4_000_000  # of all kinds, of up to thirty bytes each
QUOTED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)
DEFINITION = re.compile(r"^[ \t>]*(?:async[ \t]+)?(?:def|class)[ \t]+\w", re.MULTILINE)

Cell = tuple[list[str], str]  # tags, source


def cells_of(data: bytes) -> list[Cell]:
    """The tags and source of each code cell of a notebook's file, and of each other cell that defines a function.

    The latter are no code: `cells_for` calls them so, and they only tell a student why their answer is not found.

    Raises:
        Unreadable: if it is anything else than a notebook of a reasonable size.
    """
    counts = {
        "lists": (data.count(b"[") + data.count(b"{"), MAX_LISTS),
        "texts": ((data.count(b'"') - data.count(b'\\"')) // 2, MAX_TEXTS),
        "values": (data.count(b","), MAX_VALUES),
    }
    for name, (count, most) in counts.items():
        if count > most:
            raise Unreadable(f"more than {most:,} {name}: clear the outputs and hand it in again")
    try:
        cells = [each for cell in cells_in(data) if (each := _cell(cell))]
    except NoNotebook as error:
        raise Unreadable(str(error)) from error
    if len(cells) > MAX_CELLS or sum(len(source) for _, source in cells) > MAX_CODE_BYTES:
        raise Unreadable(f"more than {MAX_CELLS} cells or {MAX_CODE_BYTES >> 20} MiB of code")
    if not any(source.strip() for _, source in cells):
        raise Unreadable("a notebook without code")
    return cells


def _cell(cell: NotebookCell) -> Cell | None:
    """Its tags and source. Of a cell of another kind the one tag says which, as no student's tag can.

    None if that defines nothing: what a page quotes between ``` is no answer.
    """
    if cell.kind == "code":
        return [tag for tag in cell.tags if not tag.startswith(NO_CODE)], cell.source
    source = QUOTED.sub("", cell.source)
    return ([NO_CODE + cell.kind], source) if DEFINITION.search(source) else None


def cells_for(cells: list[Cell], function: str) -> list[tuple[str, str]]:
    """The cells as (kind, source) for the exercise of this function.

    "setup" by its tag, "answer" where the function is defined, "other" for the rest; "no code: markdown" for what is
    no code cell, so that it is never run.
    """
    return [(_kind(tags, source, function), source) for tags, source in cells]


def _kind(tags: list[str], source: str, function: str) -> str:
    if tags[:1] and tags[0].startswith(NO_CODE):
        return tags[0]
    if defines(source, function):
        return "answer"
    return "setup" if "setup" in tags else "other"


def defines(source: str, function: str) -> bool:
    """Whether this cell defines (or assigns) a function of this name at its top level.

    >>> defines("def ring(comm): ...", "ring"), defines("ring = lambda comm: 0", "ring"), defines("ring(comm)", "ring")
    (True, True, False)
    """
    name = re.escape(function)
    made = re.compile(rf"(async\s+)?def\s+{name}\s*\(|class\s+{name}\b|{name}\s*(:[^=\n]*)?=[^=]")
    return function in source and any(made.match(line) for line in begins_statement(source))


def places_of(cells: list[tuple[str, str]]) -> str:
    """Where the function is defined, if more than one of these (kind, source) cells does it."""
    numbers = [str(number) for number, (kind, _) in enumerate(cells, 1) if kind == "answer"]
    if len(numbers) < 2:
        return ""
    return f"code cells {', '.join(numbers[:-1])} and {numbers[-1]} define it: the last one counts"
