"""Every lecture keeps the rhythm of the course, names the origin of its numbers, and can be read without a kernel."""

import itertools
import re
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def is_draft(path):
    """Whether `course new-chapter` made this page, and nobody has written it yet."""
    return "draft" in nbformat.read(path, as_version=4).cells[0].metadata.get("tags", [])


PAGES = sorted(path.stem for path in NOTEBOOKS.glob("[0-9]*.ipynb") if not is_draft(path))
ORIGINS = ("measured", "emulated", "simulated", "computed", "published", "schematic")
ASKS = ("Write", "Put", "Guess", "Read", "Follow", "Count", "Name", "Add", "A rule for your head", "Two numbers")
ASKS += ("Formula", "Three numbers", "Sketch", "One formula", "Two formulas")
LONGEST_CELL = 18  # lines of code, imports among them
BEATS = ("**Prediction.**", "**Notice.**", "sources")


@pytest.fixture(params=PAGES)
def cells(request):
    return nbformat.read(NOTEBOOKS / f"{request.param}.ipynb", as_version=4).cells


def is_more(cells):
    """Whether this is a chapter's second page."""
    return re.match(r"# \d\d · More\b", cells[0].source) is not None


def shown(cells):
    """(id of the cell, data) of everything that the page shows."""
    return [(c.id, o.data) for c in cells if c.cell_type == "code" for o in c.outputs if "data" in o]


def test_every_code_cell_is_introduced_by_a_sentence_but_one_that_only_draws_what_another_computed(cells):
    pairs = [(a.id, b) for a, b in itertools.pairwise(cells) if a.cell_type == b.cell_type == "code"]
    set_up = {cell.id for cell in [cell for cell in cells if cell.cell_type == "code"][:2]}
    drawn = [(a, b.id) for a, b in pairs if "hide-input" not in b.metadata.get("tags", []) and b.id not in set_up]
    assert drawn == []


def test_a_code_cell_fits_on_the_screen(cells):
    code = [cell for cell in cells if cell.cell_type == "code" and "hide-input" not in cell.metadata.get("tags", [])]
    lengths = {cell.id: len(cell.source.splitlines()) for cell in code}
    assert {name: length for name, length in lengths.items() if length > LONGEST_CELL} == {}


def test_the_first_code_cell_holds_the_parameters_and_the_second_warms_up_where_processes_start(cells):
    code = [cell for cell in cells if cell.cell_type == "code"]
    starts = any(re.search(r"\brun\(", cell.source) for cell in code)
    if starts:
        assert "parameters" in code[0].metadata.get("tags", [])
        assert "world_size = 4" in code[0].source
    assert not starts or "warm_up()" in code[1].source


def test_every_picture_and_table_says_where_its_numbers_are_from(cells):
    pictures = [(name, data["text/plain"]) for name, data in shown(cells) if len(data) > 1]
    plain = ("def ", "class ", "@", "✓ ")
    explorers = re.compile(r"\w*Explorer\(")
    unlabeled = [
        name
        for name, text in pictures
        if not any(word in text for word in ORIGINS) and not text.startswith(plain) and not explorers.match(text)
    ]
    assert len(pictures) > 8 or is_more(cells)
    assert unlabeled == []


def test_a_sentence_is_printed_and_not_shown_in_quotes(cells):
    results = [(name, data["text/plain"]) for name, data in shown(cells) if set(data) == {"text/plain"}]
    assert [(name, text) for name, text in results if text[:1] in "'\""] == []


def test_a_percentage_is_written_in_one_way(cells):
    texts = [
        (cell.id, re.sub(r"```.*?```|`[^`]*`", "", cell.source, flags=re.DOTALL))
        for cell in cells
        if cell.cell_type == "markdown"
    ]
    texts += [(name, data[kind]) for name, data in shown(cells) for kind in ("text/plain", "text/html") if kind in data]
    assert [(name, found[0]) for name, text in texts for found in re.finditer(r"\d %(?! \d)", text)] == []


# "rank 1 sends" and "8 × 1 ranks" are right; what a page shows of the library's source has no counts.
THINGS = (
    "copies|steps|values|ranks|buckets|messages|bytes|segments|layers|workers|servers|updates|numbers|tokens|batches"
)
THINGS += (
    "|micro-batches|files|samples|epochs|nodes|devices|examples|pieces|stages|machines|failures|rows|processes|passes"
)
ONE_OF_MANY = re.compile(rf"(?<!rank )(?<!stage )(?<!worker )(?<!server )(?<![/×+−-] )(?<![\w.,/×+−-])1 (?:{THINGS})\b")
SAME_TWICE = re.compile(r"\bfrom (\S+(?: [a-zµ]?[A-Zs]\b)?) to \1(?![\w.])")


def test_one_is_singular_and_a_range_has_two_ends(cells):
    printed = [(c.id, o.text) for c in cells if c.cell_type == "code" for o in c.outputs if "text" in o]
    words = [(name, data.get("text/plain", "")) for name, data in shown(cells)]
    faults = {
        name: [m[0] for rule in (ONE_OF_MANY, SAME_TWICE) for m in rule.finditer(t)] for name, t in printed + words
    }
    assert {name: found for name, found in faults.items() if found} == {}


@pytest.mark.parametrize("text", ["1 segments: 5 values", "after 1 steps", "from 4.0× to 4.0×", "from 3 ms to 3 ms"])
def test_a_wrong_number_is_seen(text):
    assert ONE_OF_MANY.search(text) or SAME_TWICE.search(text)


def test_pictures_and_tables_are_imported_in_one_way(cells):
    others = r"^(?:from|import) course_lib\.draw\..*"
    assert [line for cell in cells for line in re.findall(others, cell.source, re.MULTILINE)] == []


def test_every_picture_stands_in_the_file(cells):
    for name, data in shown(cells):
        if "application/vnd.jupyter.widget-view+json" in data:
            assert "image/png" in data, name


def test_the_page_has_the_beats_of_the_course(cells):
    text = "\n".join(cell.source for cell in cells).replace("**What you see.**", "**Notice.**")
    beats = BEATS[2:] if is_more(cells) else BEATS
    assert [beat for beat in beats if beat.lower() not in text.lower()] == []


def test_a_prediction_asks_and_its_answer_is_folded_away_or_comes_after_the_run(cells):
    text = "\n\n".join(re.sub("<details>.*?</details>", "", cell.source, flags=re.DOTALL) for cell in cells)
    predictions = [part.split("\n\n")[0].strip() for part in text.split("**Prediction.**")[1:]]
    assert len(predictions) >= 4 or is_more(cells)
    assert [p for p in predictions if p and "?" not in p and not p.startswith(ASKS)] == []


def test_markdown_in_a_fold_stands_between_blank_lines_so_that_every_reader_renders_it(cells):
    folds = [fold for cell in cells for fold in re.findall("<details>.*?</details>", cell.source, re.DOTALL)]
    in_markdown = [fold for fold in folds if "*" in fold or "`" in fold]
    assert [fold for fold in in_markdown if "</summary>\n\n" not in fold or "\n\n</details>" not in fold] == []


def test_no_cell_shows_an_error(cells):
    errors = [cell.id for cell in cells if cell.cell_type == "code" for o in cell.outputs if o.output_type == "error"]
    assert errors == []


def test_no_compared_cell_draws_a_bar_that_only_slow_machines_show(cells):
    compared = [cell for cell in cells if "nbval-check-output" in cell.metadata.get("tags", [])]
    assert [cell.id for cell in compared if "progress(" in cell.source or "progress_bar(" in cell.source] == []
