"""Formulas as MathML, which browsers draw and screen readers speak without a script."""

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def inline_formula(text: str) -> str:
    """A formula within a line."""
    return str(convert(text))


def block_formula(text: str) -> str:
    """A formula that has lines of its own."""
    return f'<div class="formula">{convert(text, display="block")}</div>'


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(inline_formula(node.astext()))
    raise nodes.SkipNode


def block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(block_formula(node.astext()))
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
