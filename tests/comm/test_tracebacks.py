"""Tracebacks as a student wants them."""

import json

from course_lib.comm import errors, source_location
from course_lib.comm.tracebacks import belongs_to_program, explain


def failing(text: str) -> None:
    json.loads(text)  # fails deep inside the standard library


def caught(function, *args) -> Exception:
    try:
        function(*args)
    except Exception as error:
        return error
    raise AssertionError("it did not fail")


def test_the_place_is_the_programs_own_innermost_line_and_not_that_of_a_library():
    where, details = explain(caught(failing, "{"), entry=__file__ + "x")
    assert where.startswith(f"{__file__}, line ")
    assert where.endswith("json.loads(text)  # fails deep inside the standard library")
    assert "JSONDecodeError" in details.splitlines()[-1]
    assert "decoder.py" in details


def test_frames_of_the_caller_are_left_out():
    where, details = explain(caught(json.loads, "{"), entry=__file__)
    assert where == ""
    assert __file__ not in details


def test_cells_are_named_by_number(monkeypatch):
    monkeypatch.setattr(source_location, "_ADOPTED", {"/tmp/ipykernel_3/9.py": 4})
    namespace = {}
    exec(compile("def program():\n    return 1 / 0", "/tmp/ipykernel_3/9.py", "exec"), namespace)
    where, details = explain(caught(namespace["program"]), entry=__file__)
    assert where.startswith("cell [4], line 2")
    assert "  Cell [4], line 2, in program" in details


def test_neither_this_library_nor_packages_nor_python_belong_to_a_program():
    assert not belongs_to_program(errors.__file__)
    assert not belongs_to_program(json.__file__)
    assert not belongs_to_program("/venv/lib/python3.11/site-packages/torch/tensor.py")
    assert not belongs_to_program("<frozen importlib._bootstrap>")
    assert belongs_to_program(__file__)
    assert belongs_to_program("<string>")
