"""A notebook's cell as plain Python: magics, commands of the shell and questions stand where a statement begins.

Nothing is parsed here, so that the judge may ask about cells that it would not trust to a parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

ASIDE = re.compile(r"^(\s*)(?:[%!?]|[\w.*]+\?{1,2}\s*$)")  # a magic, a command of the shell, or a question
TIMED = re.compile(r"^(\s*(?:\w[\w., ]*=\s*)?)%time\s+(?!-)(.+)$")  # runs the statement behind it
TAKEN = re.compile(r"^(\s*\w[\w., ]*?)=\s*(?:!.*|%(\w*).*)$")  # files = !ls
CELL_MAGIC = re.compile(r"\s*%%(\w+)")
RUNS_PYTHON = ("time", "capture", "prun")  # other magics of a cell give the notebook no names

OUTSIDE = re.compile(r"#|\"{3}|'{3}|\"|'|[(\[{]+|[)\]}]+")
ENDS = {quote: re.compile(rf"\\.|{quote}") for quote in ('"""', "'''", '"', "'")}


def as_python(source: str) -> str:
    """A cell as IPython takes it: magics and questions left out, and not indented if its first line is.

    Lines inside a string, or within brackets, belong to a statement, whatever they begin with.

    >>> as_python("%%time\\nx = 1\\nx?")
    'pass\\nx = 1\\npass'
    >>> as_python("x = (1\\n     % 2)")
    'x = (1\\n     % 2)'
    >>> as_python("    def f(x):\\n        return x")
    'def f(x):\\n    return x'
    """
    magic = CELL_MAGIC.match(source)
    if magic and magic[1] not in RUNS_PYTHON:
        return ""
    lines = source.split("\n")
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    lines = [line.removeprefix(indent) for line in lines]
    return "\n".join(_plain(line) if begins else line for line, begins in zip(lines, _begins(lines), strict=True))


@lru_cache(64)
def begins_statement(source: str) -> list[str]:
    """The lines that begin a statement at the top level of a cell; all its lines where a string or bracket never ends.

    >>> begins_statement("x = [\\n1]\\ndef f():\\n    pass")
    ['x = [', 'def f():']
    """
    lines = as_python(source).split("\n")
    *begins, ended = _begins([*lines, ""])
    return [line for line, yes in zip(lines, begins, strict=True) if (yes or not ended) and line[:1] not in (" ", "\t")]


def _plain(line: str) -> str:
    """This line of a statement's beginning, in Python."""
    if timed := TIMED.match(line):
        return timed[1] + timed[2]
    if taken := TAKEN.match(line):
        asked = "getoutput()" if taken[2] is None else f"run_line_magic({taken[2]!r})"
        return f"{taken[1]}= get_ipython().{asked}"  # as IPython writes it
    aside = ASIDE.match(line)
    return f"{aside[1]}pass" if aside else line


def _begins(lines: list[str]) -> Iterator[bool]:
    """For each line whether a statement may begin there: no string, bracket or backslash is open before it."""
    quote = ""
    depth = 0
    continued = False
    for line in lines:
        begins = not (quote or depth or continued)
        yield begins
        if not line:
            continued = False
            continue
        if begins and (ASIDE.match(line) or TAKEN.match(line)):
            continue
        quote, depth, continued = _after(line, quote, depth)


def _after(line: str, quote: str, depth: int) -> tuple[str, int, bool]:
    """The open string, the number of open brackets, and whether a backslash goes on, after this line."""
    position = 0
    while match := (ENDS[quote] if quote else OUTSIDE).search(line, position):
        position, token = match.end(), match[0]
        if token == "#":
            return "", depth, False
        if token == quote:
            quote = ""
        elif not quote and token in ENDS:
            quote = token
        elif not quote:
            depth = max(0, depth + (len(token) if token[0] in "([{" else -len(token)))
    continued = line.endswith("\\")
    return quote if len(quote) == 3 or continued else "", depth, continued
