"""What a stored picture shows, in words, as its `alt`, and no more below it: myst-nb leaves the stored `alt` out."""

import hashlib
from base64 import b64decode
from pathlib import Path

import nbformat
from docutils import nodes
from sphinx.application import Sphinx

from course_lib.draw.style import IN_WORDS


def words_of(notebook: Path) -> dict[str, str]:
    """SHA-256 of each picture that the notebook stores -> what it shows, in words."""
    outputs = [output for cell in nbformat.read(notebook, as_version=4).cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    return {
        hashlib.sha256(b64decode(picture.data["image/png"])).hexdigest(): picture.metadata["image/png"]["alt"]
        for picture in pictures
    }


def give_alternatives(app: Sphinx, doctree: nodes.document) -> None:
    """Give each picture of a page its words; myst-nb names a picture's file after its SHA-256."""
    path = Path(app.env.doc2path(app.env.docname))
    words = words_of(path) if path.suffix == ".ipynb" else {}
    for image in doctree.findall(nodes.image):
        name = Path(image["uri"]).stem
        if name in words:
            image["alt"] = words[name]
    for below in [raw for raw in doctree.findall(nodes.raw) if f'class="{IN_WORDS}"' in raw.astext()]:
        bundle = below.parent.parent
        bundle.parent.remove(bundle)


def setup(app: Sphinx) -> dict:
    app.connect("doctree-read", give_alternatives)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
