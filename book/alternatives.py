"""What a stored picture shows, in words, as its `alt`, and no more below it: myst-nb leaves the stored `alt` out.

Beside a picture that has one stands the same figure for narrow windows, of which the page's style shows one.
"""

import hashlib
from base64 import b64decode
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx

from course_lib.draw.style import IN_WORDS, unpacked


def pictures_of(notebook: Path) -> dict[str, dict[str, Any]]:
    """SHA-256 of each picture that the notebook stores -> what is stored about it: its words as `alt`, and more."""
    outputs = [output for cell in nbformat.read(notebook, as_version=4).cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    return {
        hashlib.sha256(b64decode(picture.data["image/png"])).hexdigest(): picture.metadata["image/png"]
        for picture in pictures
    }


def give_alternatives(app: Sphinx, doctree: nodes.document) -> None:
    """Give each picture of a page its words; myst-nb names a picture's file after its SHA-256."""
    path = Path(app.env.doc2path(app.env.docname))
    stored = pictures_of(path) if path.suffix == ".ipynb" else {}
    for image in list(doctree.findall(nodes.image)):
        about = stored.get(Path(image["uri"]).stem)
        if about is None:
            continue
        image["alt"] = about["alt"]
        if "narrow" in about and app.builder.name == "html":  # an e-book's reader has pictures alone
            html = f'<div class="narrow-figure">{unpacked(about["narrow"])}</div>'
            image.parent.insert(image.parent.index(image) + 1, nodes.raw("", html, format="html"))
    for below in [raw for raw in doctree.findall(nodes.raw) if f'class="{IN_WORDS}"' in raw.astext()]:
        bundle = below.parent.parent
        bundle.parent.remove(bundle)


def setup(app: Sphinx) -> dict:
    app.connect("doctree-read", give_alternatives)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
