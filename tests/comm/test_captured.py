"""What a program brings along from outside of itself: found by name, wherever it stands."""

import functools
import sys

import cloudpickle
import pytest
import torch
from torch import nn

from course_lib.comm.program import captured, pack, with_hint

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if these programs were written in a notebook

CPU = torch.device("cpu")
WEIGHTS = torch.ones(2)
LAYERS = {"all": [nn.Linear(2, 1)]}


class Holder:
    def __init__(self) -> None:
        self.kept = torch.ones(1)

    def __call__(self, comm):
        return self.kept

    def program(self, comm):
        return self.kept


def helper():
    return LAYERS


def _closed_over():
    draw, late = torch.Generator(), None

    def inner():
        return draw, late, empty

    def program(comm):
        return [inner() for _ in range(2)]

    if late:
        empty = 1
    return program


PROGRAMS = {
    "a global": (lambda comm: WEIGHTS, ["WEIGHTS"]),
    "one in a function inside": (lambda comm: [WEIGHTS for _ in range(2)], ["WEIGHTS"]),
    "one of a function that is called": (lambda comm: helper(), ["LAYERS"]),
    "a generator of a closure": (_closed_over(), ["draw"]),
    "a partial's": (functools.partial(lambda comm, x, y: WEIGHTS, torch.ones(1), y=torch.ones(1)), None),
    "an object's": (Holder(), ["kept"]),
    "a method's": (Holder().program, ["kept"]),
    "nothing": (lambda comm, x: x + torch.ones(1), []),
    "a meta tensor": (functools.partial(lambda comm, x: x, x=torch.empty(1, device="meta")), []),
    "one of the library": (torch.nn.functional.relu, []),
    "a type": (dict, []),
    "a built-in function": (print, []),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_program_brings_along_is_found(name):
    program, names = PROGRAMS[name]
    if names is None:
        names = ["an argument of partial", "y", "WEIGHTS"]
    assert list(captured(program)) == names


@pytest.mark.parametrize(
    "text",
    [
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
        "Tensor for argument #2 'mat1' is on CPU, but expected it to be on GPU",
        "Expected a 'cuda' device type for generator but found 'cpu'",
        "PRETEND: aten::add.Tensor mixes devices",
    ],
)
def test_an_error_of_mixed_devices_says_what_was_brought_along(text):
    packed = pack(lambda comm: WEIGHTS, (), None)
    said = with_hint(text, RuntimeError(text), packed, torch.device("cuda", 3))
    assert said == (
        f"{text}\n  The program brings along from outside: WEIGHTS (on cpu). Only what args and kwargs give is moved "
        "to the rank's device, cuda:3. Give that in args, too, or move it inside: WEIGHTS.to(comm.device)."
    )
    listed = with_hint(text, RuntimeError(text), pack(helper, (), None), torch.device("cuda", 3))
    assert listed.endswith(
        "LAYERS (on cpu). Only what args and kwargs give is moved to the rank's device, cuda:3. Give that in args, too."
    )
    assert with_hint(text, RuntimeError(text), packed, CPU) == text
    assert with_hint(text, KeyError(text), packed, torch.device("cuda", 3)) == text
    assert with_hint(text, RuntimeError(text), pack(lambda comm: 1, (), None), torch.device("cuda", 3)) == text
    assert with_hint("no", RuntimeError("no"), packed, torch.device("cuda", 3)) == "no"
