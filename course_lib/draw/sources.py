"""The source of the one function that matters, on the page, always as it is in the library."""

from __future__ import annotations

import builtins
import inspect
import io
import keyword
import textwrap
import tokenize
from collections.abc import Callable
from html import escape
from typing import Any

__all__ = ["Source", "show_source"]

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
