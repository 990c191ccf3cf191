"""What a cell shows besides pictures: tables, the claims of a page, the source of a function, progress bars."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import io
import keyword
import sys
import textwrap
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, TypeVar

from course_lib.draw.style import ORIGINS
from course_lib.draw.units import format_bytes, format_rate, format_seconds

_CELL = "padding:0.2em 0.8em;text-align:{align};border-bottom:1px solid var(--jp-border-color2,#d6d6d6)"


class DataTable:
    """Rows under headings, with a label that says where the numbers are from.

    >>> DataTable([("ring", 6), ("tree", 4)], ["algorithm", "steps"], origin="computed")
    algorithm  steps
    ---------  -----
    ring           6
    tree           4
    (computed)
    """

    def __init__(
        self,
        rows: Iterable[Sequence[Any]],
        columns: Sequence[str],
        *,
        origin: str = "",
        title: str = "",
        note: str = "",
    ) -> None:
        if origin and not any(word in origin for word in ORIGINS):
            raise ValueError(f"origin must name one of {', '.join(ORIGINS)}, got {origin!r}")
        self.columns = list(columns)
        self.rows = [[_cell(value) for value in row] for row in rows]
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row must have {len(self.columns)} cells like the heading, got {len(row)}")
        self.origin = origin
        self.title = title
        self.note = note

    def __repr__(self) -> str:
        shown = [self.columns, *([text for text, _ in row] for row in self.rows)]
        widths = [max(len(row[column]) for row in shown) for column in range(len(self.columns))]
        lines = [self._line(row, widths) for row in shown]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([*filter(None, [self.title]), *lines, *self._below()])

    def _repr_html_(self) -> str:
        heading = "".join(
            f'<th scope="col" style="{self._style(c)}">{escape(n)}</th>' for c, n in enumerate(self.columns)
        )
        body = "".join(
            "<tr>"
            + "".join(f'<td style="{self._style(c)}">{escape(text)}</td>' for c, (text, _) in enumerate(row))
            + "</tr>"
            for row in self.rows
        )
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        below = f"<p><small>{escape(' '.join(self._below()))}</small></p>" if self._below() else ""
        return f"<table>{caption}<thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>{below}"

    def _below(self) -> list[str]:
        return [line for line in (self.note, f"({self.origin})" if self.origin else "") if line]

    def _is_number(self, column: int) -> bool:
        """Whether a column holds numbers; beside the first, which names its rows, up to half may be words.

        A dash stands for a number that there is not, and counts for neither.
        """
        numbers = [number for text, number in (row[column] for row in self.rows) if text != "–"]
        return all(numbers) or (column > 0 and 2 * sum(numbers) >= len(numbers))

    def _style(self, column: int) -> str:
        return _CELL.format(align="right" if self._is_number(column) else "left")

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        cells = [
            text.rjust(width) if self._is_number(column) else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()


def show_table(
    rows: Iterable[Sequence[Any]] | Mapping[Any, Any],
    columns: Sequence[str] | Mapping[str, str | Callable[[Any], str]],
    *,
    origin: str,
    title: str = "",
    note: str = "",
) -> DataTable:
    """A table to leave as the last line of a cell; a mapping becomes rows of key and value (or key and values).

    Args:
        columns: headings; or heading -> how its numbers are shown: "s", "B", "B/s", "%", a format ("+.2f"), a function,
            or "" for as they are. Text in such a column stays as it is.

    >>> show_table({4: (0.012, 3e6), 8: (0.024, "–")}, {"ranks": "", "time": "s", "sent": "B"}, origin="simulated")
    ranks   time  sent
    -----  -----  ----
        4  12 ms  3 MB
        8  24 ms     –
    (simulated)
    """
    if isinstance(rows, Mapping):
        rows = [(key, *value) if isinstance(value, tuple | list) else (key, value) for key, value in rows.items()]
    if isinstance(columns, Mapping):
        shows = list(columns.values())
        rows = [[*map(_shown, row, shows), *list(row)[len(shows) :]] for row in map(list, rows)]
    return DataTable(rows, list(columns), origin=origin, title=title, note=note)


def _shown(value: Any, show: str | Callable[[Any], str]) -> Any:
    """A number as its column shows numbers; words, and all in a column without a way to show, as they are."""
    if isinstance(value, str) or value is None or not show:
        return value
    known: dict[str, Callable[[Any], str]] = {
        "s": format_seconds,
        "B": format_bytes,
        "B/s": format_rate,
    }
    way = known.get(show, f"{{:{'.0%' if show == '%' else show}}}".format) if isinstance(show, str) else show
    return way(value)


def _cell(value: Any) -> tuple[str, bool]:
    """A value as text, and whether it is a number (numbers stand to the right); floats get four digits."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value], False
    if isinstance(value, float):
        return (f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"), True
    if isinstance(value, int):
        return f"{value:,}", True
    text = str(value)
    return text, text.lstrip("+-−")[:1].isdigit()


class Claims:
    """Sentences that hold, one a line."""

    def __init__(self, sentences: list[str]) -> None:
        self.sentences = sentences

    def __repr__(self) -> str:
        return "\n".join(f"✓ {sentence}" for sentence in self.sentences)

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.sentences)
        return f"<ul style=\"list-style-type:'✓ '\">{lines}</ul>"


def show_claims(claims: Mapping[str, object]) -> Claims:
    """The sentences of a page that hold, to leave as the last line of a cell.

    Args:
        claims: sentence -> whether it holds.

    Raises:
        AssertionError: if one does not; all of them are named.

    >>> show_claims({"a ring of 4 takes 6 steps": 2 * (4 - 1) == 6, "answer 2: 12 GB": round(11.96) == 12})
    ✓ a ring of 4 takes 6 steps
    ✓ answer 2: 12 GB
    """
    wrong = [sentence for sentence, holds in claims.items() if not holds]
    if wrong:
        raise AssertionError(f"does not hold: {'; '.join(wrong)}")
    return Claims(list(claims))


# Colors follow JupyterLab's theme where there is one; what is after the comma stands elsewhere.
_STYLES = {
    "keyword": "color:var(--jp-mirror-editor-keyword-color,#008000);font-weight:bold",
    "builtin": "color:var(--jp-mirror-editor-builtin-color,#008000)",
    "string": "color:var(--jp-mirror-editor-string-color,#ba2121)",
    "number": "color:var(--jp-mirror-editor-number-color,#005a00)",
    "comment": "color:var(--jp-mirror-editor-comment-color,#356b6b);font-style:italic",
    "name": "color:var(--jp-mirror-editor-def-color,#0000c0);font-weight:bold",
}
_BLOCK = (
    "overflow:auto;white-space:pre;margin:0;padding:0.6em;background:var(--jp-cell-editor-background,#f7f7f7);"
    "color:var(--jp-content-font-color1,#1f1f1f)"
)


class Source:
    """The text of a function, shown with colors where there are any and as plain text elsewhere."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        code = f'<code style="background:none;padding:0;white-space:pre">{_colored(self.text)}</code>'
        return f'<pre style="{_BLOCK}">{code}</pre>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": self.text}


def show_source(thing: Callable[..., Any], *, docstring: bool = True) -> Source:
    """The source of a function or class, to leave as the last line of a cell.

    Args:
        docstring: False leaves the docstring out where the page has already said it.

    Raises:
        TypeError: if `thing` has no Python source.
    """
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(thing)))
    except (OSError, TypeError) as error:
        raise TypeError(f"show_source needs a function or class with Python source, got {thing!r}") from error
    return Source((text if docstring else _without_docstring(text)).rstrip("\n"))


def _without_docstring(text: str) -> str:
    """The same source without the lines of its first docstring."""
    import ast

    node = ast.parse(text).body[0]
    first = node.body[0]  # type: ignore[attr-defined]
    if not (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    ):
        return text
    lines = text.splitlines(keepends=True)
    rest = lines[first.end_lineno :]
    while rest and not rest[0].strip():
        rest = rest[1:]
    return "".join(lines[: first.lineno - 1] + rest)


def _colored(text: str) -> str:
    """The source as HTML, every token that has a style in a span."""
    lines = text.splitlines(keepends=True)
    pieces: list[str] = []
    at, after_def = (1, 0), False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = _kind(token, after_def)
        after_def = token.type == tokenize.NAME and token.string in ("def", "class")
        if kind is None or not token.string:
            continue
        pieces.append(escape(_between(lines, at, token.start), quote=False))
        pieces.append(f'<span style="{_STYLES[kind]}">{escape(token.string, quote=False)}</span>')
        at = token.end
    pieces.append(escape(_between(lines, at, (len(lines) + 1, 0)), quote=False))
    return "".join(pieces)


def _kind(token: tokenize.TokenInfo, after_def: bool) -> str | None:
    if token.type == tokenize.NAME:
        if keyword.iskeyword(token.string):
            return "keyword"
        return "name" if after_def else "builtin" if hasattr(builtins, token.string) else None
    fstring = {getattr(tokenize, f"FSTRING_{part}", None) for part in ("START", "MIDDLE", "END")} - {None}
    if token.type in fstring:
        return "string"
    return {tokenize.STRING: "string", tokenize.NUMBER: "number", tokenize.COMMENT: "comment"}.get(token.type)


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text from one (line, column) to another; lines count from 1."""
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    first = lines[start[0] - 1][start[1] :] if start[0] <= len(lines) else ""
    last = lines[end[0] - 1][: end[1]] if end[0] <= len(lines) else ""
    return first + "".join(lines[start[0] : end[0] - 1]) + last


_Item = TypeVar("_Item")


def progress(items: Iterable[_Item], label: str = "") -> Iterator[_Item]:
    """The items, with a bar that says how far the loop is and that leaves nothing behind in the output."""
    yield from _bar(items, label)


@contextlib.contextmanager
def progress_bar(label: str = "") -> Iterator[Callable[[int, int], None]]:
    """The same bar for a long call: gives a function to be called with what is done and what is to do in all.

    >>> with progress_bar("counting") as show:
    ...     for done in range(3):
    ...         show(done + 1, 3)
    """
    bar = _bar(None, label)

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    try:
        yield show
    finally:
        bar.close()


def _bar(items: Iterable[Any] | None, label: str) -> Any:
    from tqdm.std import tqdm  # the plain bar: a widget's would leave its state in the notebook

    file = sys.stdout if "ipykernel" in sys.modules else sys.stderr  # a notebook paints what is on stderr red
    return tqdm(items, desc=label, leave=False, dynamic_ncols=True, delay=0.5, file=file)
