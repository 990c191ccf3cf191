"""Sphinx's settings for the book: chapters, exercises, symptoms and glossary as static pages that need no network."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "Distributed training, hands on"
author = "the course's authors"
language = "en"

# The course's folder is the source: the pages' links to each other stay as they are, and new pages come by themselves.
root_doc = "book/index"
include_patterns = ["book/index.md", "notebooks/*", "exercises/*"]
exclude_patterns = [".*", "**/.*", "benchmarks", "build", "course_lib", "docs", "solutions", "tests"]

extensions = [
    "myst_nb", "alternatives", "anchors", "code_cells", "explorers", "first_page", "formulas", "glossary",
    "symptom_box",
]  # fmt: skip
nb_execution_mode = "off"  # what the chapters store is shown
nb_merge_streams = True
nb_ipywidgets_js: dict = {}  # by default from a server; the explorers' stills need none
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

html_theme = "sphinx_book_theme"
html_title = project
html_static_path = ["static"]
html_css_files = ["book.css", "explorers.css", "explorers/rooms.css"]
html_js_files = [(script, {"defer": "defer"}) for script in ("explorers.js", "copy.js", "tables.js")]
html_favicon = "static/icon.svg"
html_baseurl = os.environ.get("BOOK_ADDRESS", "")  # what publishes the book knows where it will be
html_extra_path = ["root"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {
    "repository_url": os.environ.get("COURSE_REPOSITORY", ""),
    "use_repository_button": "COURSE_REPOSITORY" in os.environ,
    # A button on each page, where the address is known. The branch is made by colab.py; nothing else asks for its name.
    "launch_buttons": {"colab_url": "https://colab.research.google.com"} if "COURSE_REPOSITORY" in os.environ else {},
    "repository_branch": "colab",
    "navbar_persistent": [],
    "show_navbar_depth": 1,
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "back_to_top_button": False,  # on a phone it lies on the pictures
}
