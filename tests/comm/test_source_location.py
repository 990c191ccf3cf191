"""How the lines of a program are named."""

import gc
import linecache
import sys

import pytest
import torch

from course_lib import MismatchError, simulate
from course_lib.comm import source_location
from course_lib.comm.source_location import SourceLocation, adopt_cells, describe_line, is_ours, locate


def test_a_place_is_the_line_outside_of_this_library_that_led_here():
    here = locate(sys._getframe())
    line = sys._getframe().f_lineno - 1
    assert here.file_and_line == (__file__, line)
    assert str(here) == f"{__file__}, line {line}: here = locate(sys._getframe())"


def test_the_location_of_several_lines_is_the_line_that_runs():
    frame = [
        sys._getframe(),
        locate(),
    ][1]
    assert (
        frame.file_and_line[1] == test_the_location_of_several_lines_is_the_line_that_runs.__code__.co_firstlineno + 3
    )


def test_code_of_this_library_alone_still_has_a_location():
    assert str(SourceLocation((describe_line.__code__, 0))).startswith(describe_line.__code__.co_filename)


def test_only_files_of_this_library_are_ours():
    assert is_ours(source_location.__file__)
    assert not is_ours(__file__)
    assert not is_ours("<string>")


def test_a_notebooks_cell_is_named_by_its_number_once_it_is_known(monkeypatch):
    monkeypatch.setattr(source_location, "_ADOPTED", {})
    name = "/tmp/ipykernel_1/234.py"
    monkeypatch.setitem(linecache.cache, name, (9, None, ["a = 1\n", "comm.send(a, 1)\n"], name))
    assert describe_line(name, 2) == "a cell, line 2: comm.send(a, 1)"
    adopt_cells({name: 7})
    assert describe_line(name, 2) == "cell [7], line 2: comm.send(a, 1)"


def test_a_line_whose_file_is_gone_is_named_without_its_text():
    assert describe_line("/no/such/file.py", 3) == "/no/such/file.py, line 3"


def test_looked_up_lines_keep_no_code_alive():
    def location_in_fresh_code():
        namespace = {"locate": locate}
        exec(compile("here = locate()", "a_cell.py", "exec"), namespace)
        return namespace["here"]

    gc.collect()
    before = len(source_location._LINES)
    for _ in range(3):
        assert location_in_fresh_code().file_and_line == ("a_cell.py", 1)
        gc.collect()
    assert len(source_location._LINES) == before


def test_simulating_again_remembers_no_more_lines():
    def program(comm):
        return comm.send(torch.ones(2), 1) if comm.rank == 0 else comm.recv(torch.ones(1))

    counts = []
    for _ in range(3):
        with pytest.raises(MismatchError):
            simulate(program, 2)
        gc.collect()
        counts.append(len(source_location._LINES))
    assert counts[0] == counts[1] == counts[2]
