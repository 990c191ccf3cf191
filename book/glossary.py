"""The glossary as a list of terms with a filter: what a term means is wide, what other languages call it stands below.

The page's source is a table, which GitHub and JupyterLab show as it is. In a book's column five columns have no room.
"""

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

PAGE = "notebooks/glossary"
LANGUAGES = {"русский": "ru", "українська": "uk", "中文": "zh"}


def id_of(term: str) -> str:
    """Where a link finds a term.

    >>> id_of("1-bit Adam"), id_of("α–β model")
    ('term-1-bit-adam', 'term-α-β-model')
    """
    return "term-" + "-".join(re.findall(r"\w+", term.lower()))


def translations(entries: list[nodes.entry], names: list[str]) -> Iterator[nodes.Node]:
    """What each language calls it, behind the language's own short name."""
    for name, entry in zip(names, entries, strict=True):
        code = LANGUAGES[name]
        yield nodes.raw("", f'<span class="language">{name}</span> <span lang="{code}">', format="html")
        yield nodes.Text(entry.astext())
        yield nodes.raw("", "</span> ", format="html")


def as_list(table: nodes.table) -> nodes.definition_list:
    """The table's rows as terms, each with its meaning and its translations."""
    head, *rows = table.findall(nodes.row)
    names = [entry.astext() for entry in head.children][2:]
    terms = nodes.definition_list(classes=["glossary-terms"])
    for term, meaning, *others in (row.children for row in rows):
        text = term.astext()
        below = nodes.paragraph("", "", *translations(others, names), classes=["translations"])
        item = nodes.definition_list_item()
        item += nodes.term("", text, ids=[id_of(text)])
        item += nodes.definition("", *meaning.children, below)
        terms += item
    return terms


def make_list(app: Sphinx, doctree: nodes.document) -> None:
    if app.env.docname == PAGE:
        for table in list(doctree.findall(nodes.table)):
            table.parent.replace(table, as_list(table))


def add_filter(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    if page == PAGE and app.builder.name == "html":  # an e-book has no scripts
        app.add_js_file("glossary.js", defer="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", make_list)
    app.connect("html-page-context", add_filter)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
