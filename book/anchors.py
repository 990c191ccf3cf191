"""Anchors in HTML, as the exercises' headings have them for JupyterLab: a heading's becomes its section's own."""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

ANCHOR = re.compile(r'<a id="([\w-]+)">')


class AnchorsOfSections(SphinxTransform):
    """Left in the heading, the anchor would be copied to the table of contents, and links would lead there."""

    default_priority = 800  # sections have their ids, links are not resolved yet

    def apply(self, **_: object) -> None:
        slugs = self.env.metadata[self.env.docname].setdefault("myst_slugs", {})
        for title in self.document.findall(nodes.title):
            raws = [node for node in title.children if isinstance(node, nodes.raw)]
            for raw in raws:
                title.remove(raw)
            for found in filter(None, (ANCHOR.fullmatch(raw.astext()) for raw in raws)):
                if found[1] not in title.parent["ids"]:  # of a heading that says the same
                    title.parent["ids"].append(found[1])
                slugs[found[1]] = (0, found[1], title.astext())
        for raw in self.document.findall(nodes.raw):  # in a paragraph it stays, and links find it
            if found := ANCHOR.match(raw.astext()):
                slugs.setdefault(found[1], (0, found[1], ""))
        self.document.myst_slugs = slugs


def setup(app: Sphinx) -> dict:
    app.add_transform(AnchorsOfSections)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
