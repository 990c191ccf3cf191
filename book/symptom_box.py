"""A box on the page of symptoms: it ranks the page's rows against a log or a sentence, as `course symptoms` does.

The page has the words' weights and the patterns as data; its script has the rule, and needs no network.
"""

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from course_lib.cli.symptom_rank import ELSEWHERE, ENOUGH, NEAR, NOTES, TOLD
from course_lib.cli.symptom_rows import read_rows, weigh
from course_lib.cli.symptom_words import CONCEPT, KINDS, LAST_LINES, PATTERNS, PHRASES, STOP

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


def add_box(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Put the box under the page's first paragraph."""
    if page != PAGE:
        return
    text = (Path(app.srcdir) / f"{PAGE}.md").read_text(encoding="utf-8")
    data = json.dumps(data_of(text), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    before, end, after = context["body"].partition("</p>")
    context["body"] = before + end + BOX.format(data=data) + after
    app.add_js_file("symptoms.js", defer="defer")
    app.add_css_file("symptoms.css")


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", add_box)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
