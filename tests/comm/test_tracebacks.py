"""Tracebacks as a student wants them."""

import json

import pytest

from course_lib import RankError, simulate
from course_lib.comm import errors, source_location
from course_lib.comm.source_location import belongs_to_program, explain, text_of


def failing(text: str) -> None:
    json.loads(text)  # fails deep inside the standard library


def caught(function, *args) -> Exception:
    try:
        function(*args)
    except Exception as error:
        return error
    raise AssertionError("it did not fail")


def test_the_place_is_the_programs_own_innermost_line_and_not_that_of_a_library():
    where, details = explain(caught(failing, "{"))
    assert where.startswith(f"{__file__}, line ")
    assert where.endswith("json.loads(text)  # fails deep inside the standard library")
    assert "JSONDecodeError" in details.splitlines()[-1]
    assert "decoder.py" in details


def test_frames_of_the_executor_are_left_out():
    def program(comm):
        comm.compute(-1.0)  # the program's line

    with pytest.raises(RankError) as error:
        simulate(program, 1)
    where, details = str(error.value).split("\n\n")
    assert where.endswith("# the program's line")
    assert next(line.split('"')[1] for line in details.splitlines() if "File" in line) == __file__


def test_an_exception_that_cannot_say_its_text_is_told_all_the_same():
    class Mute(Exception):
        def __str__(self):
            raise SystemExit

    assert text_of(Mute()) == "(its text cannot be had: __str__ raised SystemExit)"
    assert text_of(ValueError("clear")) == "clear"


def test_cells_are_named_by_number(monkeypatch):
    monkeypatch.setattr(source_location, "_ADOPTED", {"/tmp/ipykernel_3/9.py": 4})
    namespace = {}
    exec(compile("def program():\n    return 1 / 0", "/tmp/ipykernel_3/9.py", "exec"), namespace)
    where, details = explain(caught(namespace["program"]))
    assert where.startswith("cell [4], line 2")
    assert "  Cell [4], line 2, in program" in details


def test_neither_this_library_nor_packages_nor_python_belong_to_a_program():
    assert not belongs_to_program(errors.__file__)
    assert not belongs_to_program(json.__file__)
    assert not belongs_to_program("/venv/lib/python3.11/site-packages/torch/tensor.py")
    assert not belongs_to_program("<frozen importlib._bootstrap>")
    assert belongs_to_program(__file__)
    assert belongs_to_program("<string>")
