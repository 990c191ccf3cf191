"""A box on the page of symptoms: it ranks the page's rows against a log or a sentence, as `course symptoms` does.

The page has the words' weights and the patterns as data; its script has the rule, and needs no network. The book's
search names rows, too: it gets their words, those that nobody sees among them, in a file of its own.
"""

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from course_lib.cli.symptom_words import CONCEPT, KINDS, LAST_LINES, PATTERNS, PHRASES, STOP
from course_lib.cli.symptoms import (
    ELSEWHERE,
    ENOUGH,
    HANGS,
    HIDDEN,
    NEAR,
    NOTES,
    TIMED_OUT,
    TOLD,
    WHAT,
    read_rows,
    weigh,
)

PAGE = "notebooks/symptoms"
BOX = """<form class="symptom-box" hidden>
<label for="symptom-text">The end of your log, or a sentence in your own words. It stays in this page.</label>
<textarea id="symptom-text" rows="5" spellcheck="false"></textarea>
<button type="submit">Which rows fit?</button> <kbd>Ctrl+Enter</kbd>
<div role="status" aria-live="polite"></div>
<script type="application/json" id="symptom-data">{data}</script>
</form>
"""


def data_of(page: str) -> dict[str, Any]:
    """What the script needs to rank the page's rows: patterns, words of one meaning, weights, rows."""
    rows = read_rows(page)
    weights = weigh(rows)
    return {
        "patterns": PATTERNS,
        "phrases": PHRASES,
        "stop": sorted(STOP),
        "concept": CONCEPT,
        "enough": ENOUGH,
        "near": NEAR,
        "notes": NOTES,
        "hangs": HANGS,
        "what": WHAT,
        "timedOut": [number for begins in TIMED_OUT for number, row in enumerate(rows) if row.cause.startswith(begins)],
        "toldWeight": TOLD,
        "elsewhere": ELSEWHERE,
        "kinds": {table: sorted(words) for table, words in KINDS.items()},
        "lastLines": LAST_LINES,
        "quoted": weights.quoted,
        "told": weights.told,
        "unknown": weights.unknown,
        "rows": [
            {"group": row.group, "quotes": [" ".join(quote) for quote in row.quotes], "told": _by_level(row.told)}
            for row in rows
        ],
    }


def _by_level(told: Any) -> dict[str, str]:
    levels: dict[str, list[str]] = {}
    for word, level in told.items():
        levels.setdefault(str(level), []).append(word)
    return {level: " ".join(words) for level, words in levels.items()}


def words_of_rows(page: str) -> list[dict[str, str]]:
    """What the book's search looks through and shows: each row's table, what is seen, what else it is called, the cause
    and the checks. Links have become their words."""
    hidden = [" ".join(HIDDEN.findall(line)) for line in page.splitlines() if "**1.**" in line]
    return [
        {"group": row.group, "sees": row.sees, "called": called.replace("`", ""), "cause": _plain(row.cause)}
        | {"checks": _plain(row.checks).replace("*", "")}
        for row, called in zip(read_rows(page), hidden, strict=True)
    ]


def _plain(text: str) -> str:
    return re.sub(r"\[(.+?)\]\(\S+\)", r"\1", text)


def page_text(app: Sphinx) -> str:
    return (Path(app.srcdir) / f"{PAGE}.md").read_text(encoding="utf-8")


def name_rows(app: Sphinx, doctree: nodes.document) -> None:
    """Give each row of the page an id, which the box and the search lead to."""
    if app.env.docname == PAGE:
        rows = [row for body in doctree.findall(nodes.tbody) for row in body.findall(nodes.row)]
        for number, row in enumerate(rows):
            row["ids"] = [f"row-{number}"]


def write_rows(app: Sphinx) -> None:
    """Write the rows' words, which the page of the search loads."""
    rows = json.dumps(words_of_rows(page_text(app)), ensure_ascii=False, separators=(",", ":"))
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "symptom-rows.js").write_text(f"window.symptomRows = {rows};\n", encoding="utf-8")


def add_box(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Put the box under the page's first paragraph, and the rows' words on the page of the search."""
    if page == "search":
        app.add_js_file("symptom-rows.js", defer="defer")
        app.add_js_file("search_symptoms.js", defer="defer")
    if page != PAGE:
        return
    data = json.dumps(data_of(page_text(app)), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    before, end, after = context["body"].partition("</p>")
    context["body"] = before + end + BOX.format(data=data) + after
    app.add_js_file("symptoms.js", defer="defer")
    app.add_css_file("symptoms.css")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write_rows)
    app.connect("doctree-read", name_rows)
    app.connect("html-page-context", add_box)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
