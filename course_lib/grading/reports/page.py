"""The frame of every page: light and dark, readable on a phone, nothing loaded from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --line: #8886; --bar: #3b7dd8; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .9em; margin: .3rem 0; }
.class { border: 1px solid var(--line); margin: .2rem 0; }
.bar { background: var(--bar); height: .8rem; min-width: 2px; }
"""


def page(title: str, body: Iterable[str]) -> str:
    """A whole HTML page; `body` is HTML already, the title is plain text."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    text = "\n".join(body)
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n'
        f"<body><main><h1>{escape(title)}</h1>\n{text}\n</main></body></html>\n"
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """A table whose cells are HTML already; columns with these places hold numbers."""
    right = set(numbers)

    def line(cells: Sequence[str], tag: str) -> str:
        found = (
            f"<{tag}{' class=number' if place in right else ''}>{cell}</{tag}>" for place, cell in enumerate(cells)
        )
        return f"<tr>{''.join(found)}</tr>"

    body = "\n".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(heads, 'th')}</thead><tbody>\n{body}\n</tbody></table>"
