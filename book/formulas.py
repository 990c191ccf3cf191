"""Formulas as MathML, which browsers draw and screen readers speak without a script."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|.", re.DOTALL)
OPENS = {"{", r"\begin", r"\left"}
CLOSES = {"}", r"\end", r"\right"}
GAP = r"\qquad"
BREAKS = {"=", GAP, r"\approx", r"\ge", r"\le", r"\leftarrow"}


def inline_formula(text: str) -> str:
    """A formula within a line."""
    return str(convert(text))


def parts_of(formula: str) -> list[str]:
    """A formula cut before each relation and at each wide gap, where no bracket is open.

    >>> parts_of("a = {b = c} = d, e = 0")
    ['a', '= {b = c}', '= d, e', '= 0']
    """
    parts, open_brackets = [""], 0
    for token in TOKEN.findall(formula):
        open_brackets += (token in OPENS) - (token in CLOSES)
        if open_brackets == 0 and token in BREAKS:
            parts.append("")
        parts[-1] += "" if token == GAP else token
    return [part.strip() for part in parts if part.strip()]


def block_formula(text: str) -> str:
    """A formula that has lines of its own, as many as a narrow window needs."""
    parts = (convert(part).replace("<math ", '<math displaystyle="true" ', 1) for part in parts_of(text))
    return f'<div class="formula">{" ".join(parts)}</div>'


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(inline_formula(node.astext()))
    raise nodes.SkipNode


def block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(block_formula(node.astext()))
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
