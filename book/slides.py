"""Make a deck of slides of each lecture: `make slides`, then open build/slides/index.html.

Slides follow Jupyter's own metadata (`slideshow.slide_type`). What is not told is left out: folds, skipped cells, and
code that only draws. Explorers move as in the book. A deck needs no network: reveal.js, which the package
sphinx-revealjs carries, lies beside it.
"""

import importlib.util
import re
import shutil
import sys
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from explorers import ROOT, cells_of, kept
from formulas import block_formula, inline_formula
from nbconvert.exporters import SlidesExporter
from traitlets.config import Config

from course_lib.desk import outline
from course_lib.draw.panels.svg import room_css
from course_lib.draw.style import IN_WORDS

HERE = Path(__file__).parent
OUT = ROOT / "build" / "slides"
FOLD = re.compile(r"<details>.*?</details>", re.DOTALL)
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$\w])\$([^\s$](?:[^$]*?[^\s$\\])?)\$(?!\d)", re.DOTALL)
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
LINK = re.compile(r"\[([^\]]+)\]\((?![a-z]+:)[^)]*\)")
WAYS = re.compile(r"^\[.*\)$\n*", re.MULTILINE)  # a line of links to other pages


def lectures() -> list[Path]:
    """The pages that say of their cells whether they are on a slide."""
    pages = [ROOT / chapter.page for chapter in outline(ROOT)]
    return [page for page in pages if '"slide_type"' in page.read_text(encoding="utf-8")]


def told(text: str) -> str:
    """What a slide shows of a cell's text: no folds, formulas as MathML, of links to other pages the words."""
    parts = CODE.split(LINK.sub(r"\1", FOLD.sub("", WAYS.sub("", text))))
    return "".join(part if number % 2 else FORMULA.sub(_mathml, part) for number, part in enumerate(parts))


def _mathml(found: re.Match[str]) -> str:
    text = " ".join((found[1] or found[2]).split())
    return block_formula(text) if found[1] else inline_formula(text)


def slides_of(page: Path) -> nbformat.NotebookNode:
    """The page as its slides have it."""
    notebook, explorers = nbformat.read(page, as_version=4), cells_of(page)
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            cell.source = told(cell.source)
            if not cell.source.strip() and cell.metadata.get("slideshow", {}).get("slide_type", "-") in (
                "-",
                "fragment",
            ):
                cell.metadata["slideshow"] = {"slide_type": "skip"}
        elif number in explorers:
            place = f'<div class="moving-explorer" data-states="{escape(explorers[number].name)}"></div>'
            cell.outputs = [nbformat.v4.new_output("display_data", {"text/html": place})]
        else:
            cell.outputs = [
                output for output in cell.outputs if IN_WORDS not in str(output.get("data", {}).get("text/html"))
            ]
    return notebook


def exporter() -> SlidesExporter:
    config = Config()
    config.TagRemovePreprocessor.enabled = True
    config.TagRemovePreprocessor.remove_input_tags = ("hide-input",)
    config.SlidesExporter.reveal_url_prefix = "_static/reveal"
    config.SlidesExporter.reveal_theme = "white"
    config.HTMLExporter.embed_images = True
    return SlidesExporter(config=config, template_name="deck", extra_template_basedirs=[str(HERE)])


def write_static(folder: Path) -> None:
    """What all decks need: reveal.js, the explorers' script and styles."""
    [package] = importlib.util.find_spec("sphinx_revealjs").submodule_search_locations  # type: ignore[union-attr, misc]
    for part in ("dist", "plugin/notes", "LICENSE"):
        source, target = Path(package, "_static", "revealjs", part), folder / "reveal" / part
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.map", "*.esm.*"))
        else:
            shutil.copyfile(source, target)
    (folder / "explorers").mkdir(exist_ok=True)
    for name in ("explorers.js", "explorers.css", "icon.svg"):
        shutil.copyfile(HERE / "static" / name, folder / name)
    (folder / "explorers" / "rooms.css").write_text(room_css(), encoding="utf-8")


def write_decks(pages: list[Path], out: Path, max_values: int | None = None) -> None:
    """Write a deck for each page, and a page that lists them."""
    (out / "_static").mkdir(parents=True, exist_ok=True)
    write_static(out / "_static")
    titles = {}
    for page in pages:
        notebook = slides_of(page)
        title = notebook.cells[0].source.splitlines()[0].lstrip("# ")
        titles[page.stem] = title
        text, _ = exporter().from_notebook_node(notebook, resources={"metadata": {"name": title}})
        (out / f"{page.stem}.html").write_text(text, encoding="utf-8")
        for cell in cells_of(page).values():
            (out / "_static" / "explorers" / f"{cell.name}.js").write_text(kept(cell, max_values), encoding="utf-8")
        print(f"{page.stem}: {text.count('<section')} slides", flush=True)
    (out / "index.html").write_text(_index(titles), encoding="utf-8")


def _index(titles: dict[str, Any]) -> str:
    rows = "".join(f'<li><a href="{name}.html">{escape(title)}</a></li>' for name, title in titles.items())
    keys = "Arrow keys go on and back, Escape shows all slides, S opens the speaker's view, F fills the screen."
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    style = "<style>body{font:20px/1.6 sans-serif;margin:3rem auto;max-width:40rem;padding:0 1rem}</style>"
    return f"{head}<title>Slides</title>{style}<h1>Slides of the lectures</h1><p>{keys}</p><ul>{rows}</ul></html>\n"


if __name__ == "__main__":
    write_decks([Path(each).resolve() for each in sys.argv[1:]] or lectures(), OUT)
