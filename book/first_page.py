"""The first page: a card for each chapter, ways to the repository, and what a link says where somebody shares it."""

import base64
import io
import json
import os
import re
from html import escape
from pathlib import Path
from typing import Any

from animation import animated
from explorers import cells_of
from PIL import Image
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
FIRST = "book/index"
FOLDER = "_static/thumbnails"
WIDE_PX = 400
ROW = re.compile(r"\| \[(\d\d) (.+?)\]\(notebooks/(\w+)\.ipynb\)(?: \(\[more\]\(\S+\)\))? \| (.+?) \|")
NO_ADDRESS = "ADDRESS-OF-THIS-REPOSITORY"
ABOUT = (
    "A course in fourteen chapters on distributed training, with explorers that move: real processes on your laptop, "
    "every byte shown, models held against published tables. No GPU and no cluster are needed."
)


def chapters() -> list[tuple[str, str, str, str]]:
    """Number, title, file and a line about each chapter, from the table of README.md."""
    return ROW.findall((ROOT / "README.md").read_text(encoding="utf-8"))


def still_of(notebook: Path) -> Image.Image:
    """The still picture of a page's explorer."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    stills = [o for o in outputs if "Explorer with " in str(o.get("metadata", {}).get("image/png", {}).get("alt"))]
    return Image.open(io.BytesIO(base64.b64decode(stills[0]["data"]["image/png"]))).convert("RGB")


def write_thumbnails(app: Sphinx) -> None:
    """A small picture of each chapter's explorer, and the first page's where no script runs."""
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "first.gif").write_bytes(animated())
    (folder / "first-narrow.gif").write_bytes(animated(narrow=True))
    for _, _, name, _ in chapters():
        picture = still_of(ROOT / f"notebooks/{name}.ipynb")
        if name.startswith("02"):
            picture.save(folder / "first.png")
        picture = picture.crop((0, 0, picture.width, min(picture.height, picture.width * 3 // 4)))
        picture.thumbnail((WIDE_PX, WIDE_PX))
        picture.quantize(64).save(folder / f"{name}.png", optimize=True)


def card(number: str, title: str, name: str, about: str) -> str:
    """A link to a chapter, with its picture and a line about it."""
    picture = f'<img src="../{FOLDER}/{name}.png" alt="Explorer of chapter {number}:" loading="lazy">'
    line = re.sub("`(.+?)`", r"<code>\1</code>", escape(about))
    words = f"<strong>{number} · {escape(title)}</strong><span>{line}</span>"
    return f'<a class="chapter-card" href="../notebooks/{name}.html">{picture}{words}</a>'


def write_first_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Fill in the chapters and the address of the repository, where it is known."""
    if docname != FIRST:
        return
    cards = "".join(card(*chapter) for chapter in chapters())
    address = os.environ.get("COURSE_REPOSITORY", NO_ADDRESS)
    link = "" if address == NO_ADDRESS else f" It is [here]({address})."
    first = next(iter(cells_of(ROOT / "notebooks/02_allreduce.ipynb").values())).name
    filled = {"chapters": f'<div class="chapter-cards">{cards}</div>', "repository": link, "first": first}
    for name, text in filled.items():
        source[0] = source[0].replace(f"{{{{{name}}}}}", text)
    source[0] = source[0].replace(NO_ADDRESS, address)


def describe(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """What search engines and messengers show of a link."""
    title = re.sub("<.*?>", "", str(context.get("title") or app.config.html_title))
    tags = {"og:type": "website", "og:site_name": app.config.project, "og:title": title}
    if page == FIRST:
        tags["og:description"] = ABOUT
        context["metatags"] = context.get("metatags", "") + f'<meta name="description" content="{escape(ABOUT)}">'
    if app.config.html_baseurl:  # a picture needs a whole address
        tags["og:image"] = f"{app.config.html_baseurl.rstrip('/')}/{FOLDER}/first.png"
    metas = "".join(f'<meta property="{name}" content="{escape(text)}">' for name, text in tags.items())
    context["metatags"] = context.get("metatags", "") + metas


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write_thumbnails)
    app.connect("source-read", write_first_page)
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
