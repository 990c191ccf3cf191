"""Why a notebook makes no function of a name that it seems to make: what stands around it, or another name."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator, Sequence

from course_lib.grading.sandbox.magics import as_python, begins_statement

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
