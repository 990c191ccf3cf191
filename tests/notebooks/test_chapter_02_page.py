"""The explorer of the chapter on all-reduce can be read where there is no kernel, and begins where the page stands."""

from pathlib import Path

import nbformat

PATH = Path(__file__).parents[2] / "notebooks" / "02_allreduce.ipynb"


def test_the_explorer_leaves_a_picture_and_words_where_there_is_no_kernel():
    [cell] = [cell for cell in nbformat.read(PATH, as_version=4).cells if cell.id == "explorer"]
    shown, words = [output.data for output in cell.outputs if "data" in output]
    assert "image/png" in shown
    assert "At step" in shown["text/plain"]
    assert "At step" in words["text/html"]


def test_the_explorer_begins_on_the_links_of_the_page():
    cells = {cell.id: cell for cell in nbformat.read(PATH, as_version=4).cells}
    assert "latency_s=10e-6, bytes_per_s=6.25e9" in cells["stakes"].source
    setting = cells["explorer"].outputs[0].data["text/plain"]
    assert "message_bytes=100 MB, all_reduces=4, latency_s=10 µs, bytes_per_s=6.25 GB/s" in setting
