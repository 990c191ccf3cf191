"""Cells that assert what a page says stand folded up: a reader looks at the result first."""

from docutils import nodes
from sphinx.application import Sphinx

WORDS = "What this page asserts here"


def fold_claims(app: Sphinx, doctree: nodes.document) -> None:
    """Fold each cell tagged `claims`, as myst-nb folds one tagged `hide-cell`."""
    for cell in doctree.findall(nodes.container):
        if "claims" in cell.get("cell_metadata", {}).get("tags", []):
            cell["hide_mode"] = "all"
            cell["prompt_show"] = cell["prompt_hide"] = WORDS


def setup(app: Sphinx) -> dict:
    app.connect("doctree-read", fold_claims)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
