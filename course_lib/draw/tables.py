"""Small tables that read well in a notebook, on GitHub and as plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from course_lib.draw.style import ORIGINS
from course_lib.draw.units import format_bytes, format_rate, format_seconds

__all__ = ["Table", "show_table"]

_CELL = "padding:0.2em 0.8em;text-align:{align};border-bottom:1px solid var(--jp-border-color2,#d6d6d6)"


class Table:
    """Rows under headings, with a label that says where the numbers are from.

    >>> Table([("ring", 6), ("tree", 4)], ["algorithm", "steps"], origin="computed")
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
) -> Table:
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
    return Table(rows, list(columns), origin=origin, title=title, note=note)


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
