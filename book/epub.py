"""The book as an e-book: `make epub`, then build/epub/distributed_training.epub.

Sphinx's own builder makes it, of the same pages by the same extensions, with still pictures in place of explorers that
move. This script lays the pages so that no link leaves their folder, and mends what an e-book is stricter about: XHTML,
and a list of the pages with formulas.
"""

import html
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

from first_page import NO_ADDRESS
from sphinx.application import Sphinx
from sphinx.builders.epub3 import Epub3Builder

ROOT = Path(__file__).parents[1]
HERE = Path(__file__).parent
NAME = "distributed_training"
PAGES = ("notebooks/*", "exercises/*")
VOID = re.compile(r"<(area|br|col|hr|img|input|source|wbr)\b((?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)\s*/?>")
BARE = re.compile(r"<(details|input|option|video)\b([^<>]*?)\s(open|hidden|checked|selected|disabled)(?=[\s>])(?!=)")
ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);)\w+;")
RAW = re.compile(r"```\{raw\} html\n.*?```\n", re.DOTALL)
HIDDEN = "\n:hidden:"
ITEM = re.compile(r'<item id="[^"]*" href="([^"]+\.xhtml)" media-type="[^"]*" ?/>')
# A fold's two captions, of which the book's style shows one: an e-book may have neither styles nor paragraphs there.
CAPTIONS = re.compile(r'<summary aria-label="[^"]*">\s*<p class="collapsed[^"]*">(.*?)</p>\s*<p .*?</p>\s*</summary>')


class Builder(Epub3Builder):
    """Sphinx's, whose list of files says which pages have formulas, as the standard asks."""

    def build_epub(self) -> None:
        listed = self.outdir / "content.opf"
        listed.write_text(ITEM.sub(self._item, listed.read_text(encoding="utf-8")), encoding="utf-8")
        super().build_epub()

    def _item(self, found: re.Match[str]) -> str:
        page = (self.outdir / html.unescape(found[1])).read_text(encoding="utf-8")
        used = [name for name, tag in (("mathml", "<math"), ("svg", "<svg")) if tag in page]
        return found[0].replace("<item ", f'<item properties="{" ".join(used)}" ') if used else found[0]


def xhtml(body: str) -> str:
    """HTML as a browser reads it -> the same as XHTML.

    >>> xhtml('<details open>a<br>&nbsp;<img alt="x > y" src="z">')
    '<details open="open">a<br/>\\xa0<img alt="x > y" src="z"/>'
    """
    body = ENTITY.sub(lambda found: html.unescape(found[0]), CAPTIONS.sub(r"<summary>\1</summary>", body))
    return VOID.sub(r"<\1\2/>", BARE.sub(r'<\1\2 \3="\3"', body))


def mend(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    if "body" in context:
        context["body"] = xhtml(context["body"])
    context["css_files"] = [each for each in context["css_files"] if "mystnb" not in str(each.filename)]


def lay(folder: Path) -> None:
    """Lay the sources of the e-book: the pages, and a first page without HTML of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("notebooks", "exercises"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(".*", "__*"))
    text = RAW.sub("", (HERE / "index.md").read_text(encoding="utf-8")).replace(HIDDEN, "")
    address = os.environ.get("COURSE_REPOSITORY", NO_ADDRESS)
    text = text.replace(NO_ADDRESS, address).replace("{{repository}}", "")
    (folder / "index.md").write_text(text, encoding="utf-8")


def build(out: Path) -> int:
    """Build it in this folder; returns Sphinx's exit status."""
    lay(out / "source")
    shutil.rmtree(out / "pages", ignore_errors=True)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    settings = {
        "root_doc": "index",
        "include_patterns": ["index.md", *PAGES],
        "extensions": ["myst_nb", "alternatives", "anchors", "code_cells", "formulas", "glossary", "epub"],
        "html_css_files": ["ebook.css"],
        "html_js_files": [],
        "html_extra_path": [],
        "version": version,
        "copyright": "the course's authors, MIT license",
        "epub_basename": NAME,
        "epub_identifier": f"distributed-training-{version}",
        "epub_uid": f"distributed-training-{version}",  # one list of contents asks that both are the same
        "epub_scheme": "id",
        "epub_exclude_files": [f"_static/{name}" for name in ("book.css", "explorers.css", "symptoms.css", "icon.svg")],
        "epub_show_urls": "no",
        "epub_tocdepth": 2,
        "epub_cover": (),
    }
    app = Sphinx(
        out / "source", HERE, out / "pages", out / "doctrees", "epub", settings, status=None, warningiserror=True
    )
    app.build()
    if not app.statuscode:
        shutil.copyfile(out / "pages" / f"{NAME}.epub", out / f"{NAME}.epub")
    return app.statuscode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_builder(Builder, override=True)
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "build" / "epub"))
