"""Tables, sources and units: the same words on every page."""

import html
import re

import pytest

from course_lib.draw import (
    DataTable,
    format_bytes,
    format_rate,
    format_seconds,
    progress,
    show_claims,
    show_source,
    show_table,
)


def a_function(x):
    """Say what x is.

    Twice.
    """
    # a comment with <angle> brackets
    return str(x) + " is 1 long"  # the end


def test_a_table_lines_up_numbers_to_the_right_and_words_to_the_left():
    table = show_table([("ring", 6), ("halving-doubling", 12)], ["algorithm", "steps"], origin="computed")
    assert repr(table).splitlines() == [
        "algorithm         steps",
        "----------------  -----",
        "ring                  6",
        "halving-doubling     12",
        "(computed)",
    ]


def test_a_table_of_a_mapping_has_a_row_for_each_key():
    assert show_table({"a": (1, 2.5)}, ["x", "y", "z"], origin="measured").rows == [
        [("a", False), ("1", True), ("2.5", True)]
    ]


@pytest.mark.parametrize("odd", ["–", "explodes", None])
def test_a_column_of_numbers_stands_to_the_right_though_one_cell_is_a_word(odd):
    lines = repr(DataTable([("a", 1.5), ("b", odd), ("c", 12.25)], ["x", "seconds"])).splitlines()
    assert len({len(line) for line in lines}) == 1  # all end at the same place


def test_names_that_begin_with_digits_stand_to_the_left_beside_others():
    assert repr(DataTable([("100 Mbit/s", 1), ("NVLink", 2)], ["link", "n"])).splitlines()[3].startswith("NVLink")


def test_signed_numbers_stand_to_the_right_and_a_dash_is_no_word():
    rows = [("a", "+1.0%", "–"), ("b", "-12%", "–"), ("c", "−0.8%", 5)]
    assert repr(DataTable(rows, ["row", "difference", "of which"])).splitlines()[2:] == [
        "a         +1.0%         –",
        "b          -12%         –",
        "c         −0.8%         5",
    ]


def test_a_column_says_how_its_numbers_are_shown():
    columns = {"n": "", "time": "s", "sent": "B", "rate": "B/s", "share": "%", "loss": ".2f", "own": lambda x: f"<{x}>"}
    table = show_table([(2, 0.5, 1500, 1e9, 0.25, 1 / 3, 7), (4, *["–"] * 6)], columns, origin="computed")
    assert [text for text, _ in table.rows[0]] == ["2", "500 ms", "1.5 kB", "1 GB/s", "25%", "0.33", "<7>"]
    assert [text for text, _ in table.rows[1]] == ["4", *["–"] * 6]


@pytest.mark.parametrize("rows", [[(1,)], [(1, 2, 3)]])
def test_a_row_that_does_not_fit_columns_with_units_is_refused(rows):
    with pytest.raises(ValueError, match="a row must have 2 cells"):
        show_table(rows, {"a": "", "b": "s"}, origin="computed")


def test_claims_that_hold_are_shown_and_those_that_do_not_are_named():
    assert repr(show_claims({"one": True, "two <2": 1 < 2})) == "✓ one\n✓ two <2"
    assert "two &lt;2" in show_claims({"two <2": True})._repr_html_()
    with pytest.raises(AssertionError, match=r"^does not hold: two; four$"):
        show_claims({"one": True, "two": False, "three": 1, "four": []})


def test_numbers_in_tables_have_four_digits_and_no_noise():
    shown = [cells[0][0] for cells in DataTable([[1 / 3], [123456.789], [1e-7], [2.0], [10**6]], ["x"]).rows]
    assert shown == ["0.3333", "123,457", "1e-07", "2", "1,000,000"]


def test_html_tables_escape_their_cells_and_name_their_origin():
    page = show_table([("<b>", 1)], ["a & b", "n"], origin="published", title="T", note="by <us>")._repr_html_()
    assert "&lt;b&gt;" in page
    assert "a &amp; b" in page
    assert "<caption>T</caption>" in page
    assert "by &lt;us&gt; (published)" in page
    assert "<b>" not in page


@pytest.mark.parametrize("rows", [[(1,)], [(1, 2, 3)]])
def test_a_row_that_does_not_fit_its_heading_is_refused(rows):
    with pytest.raises(ValueError, match="a row must have 2 cells"):
        DataTable(rows, ["a", "b"])


def test_a_table_of_unknown_origin_is_refused():
    with pytest.raises(ValueError, match="got 'hearsay'"):
        DataTable([], ["a"], origin="hearsay")


def test_an_empty_table_keeps_its_heading():
    assert repr(DataTable([], ["a", "b"])).splitlines() == ["a  b", "-  -"]


def test_the_source_on_the_page_is_the_source_in_the_library():
    source = show_source(a_function)
    without_tags = re.sub(r"<[^>]+>", "", source._repr_html_())
    assert html.unescape(without_tags) == source.text == repr(source)
    assert source.text.startswith('def a_function(x):\n    """Say what x is.')


def test_the_source_colors_keywords_names_strings_and_comments():
    page = show_source(a_function)._repr_html_()
    for word in ("def", "a_function", "return", "# the end", "str"):
        assert re.search(rf"<span style=[^>]+>{re.escape(word)}</span>", page), word
    assert "color:var(--jp-mirror-editor-keyword-color" in page


def test_a_long_line_of_a_source_is_scrolled_and_not_broken():
    assert show_source(a_function)._repr_html_().count("white-space:pre") == 2


def test_the_docstring_can_be_left_out():
    text = show_source(a_function, docstring=False).text
    assert "Say what" not in text
    assert text.splitlines()[1] == "    # a comment with <angle> brackets"


def test_what_has_no_source_is_refused():
    with pytest.raises(TypeError, match="needs a function or class"):
        show_source(len)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1, "1 B"), (1000, "1 kB"), (1024, "1.02 kB"), (2**30, "1.07 GB"), (999_999, "1 MB")],
)
def test_bytes_read_in_the_unit_that_fits(count, text):
    assert format_bytes(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.0, "1 s"), (1234.0, "1234 s"), (0.0005, "500 µs"), (1e-9, "1 ns"), (0.9996e-3, "1 ms")]
)
def test_seconds_read_in_the_unit_that_fits(seconds, text):
    assert format_seconds(seconds) == text


def test_rates_read_in_decimal_units():
    assert format_rate(46e9) == "46 GB/s"


def test_progress_yields_every_item_and_leaves_nothing_behind(capsys):
    assert list(progress(range(3), "counting")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")
