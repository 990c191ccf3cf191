"""What a program brings along from outside, such as a notebook's tensors: it stays on the device where it was made."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch
from torch import nn

from course_lib.comm.program import unpack
from course_lib.comm.source_location import belongs_to_program

__all__ = ["captured", "with_hint"]

_MIXES = re.compile(r"same device|mixes devices|is on (cpu|cuda|xpu)|Expected an? '\w+' device type", re.IGNORECASE)


def with_hint(text: str, error: BaseException, packed: bytes, device: torch.device) -> str:
    """The text of a rank's error; where devices were mixed, with what the program brought from another one.

    Args:
        packed: the program, as `pack` gives it.
        device: the rank's own.
    """
    if device.type == "cpu" or not isinstance(error, RuntimeError) or not _MIXES.search(text):
        return text
    strange = {name: value for name, value in captured(unpack(packed)[0]).items() if next(_devices(value)) != device}
    if not strange:
        return text
    named = ", ".join(f"{name} (on {next(_devices(value))})" for name, value in strange.items())
    movable = next((name for name, value in strange.items() if hasattr(value, "to")), "")
    inside = f", or move it inside: {movable}.to(comm.device)" if movable else ""
    return (
        f"{text}\n  The program brings along from outside: {named}. Only what args and kwargs give is moved to the "
        f"rank's device, {device}. Give that in args, too{inside}."
    )


def captured(program: Any) -> dict[str, Any]:
    """The tensors, generators and modules, and lists and dictionaries of them, that a program uses and was not given.

    >>> weights, unused = {"first": torch.ones(2)}, torch.ones(2)
    >>> captured(lambda comm: weights["first"].sum())
    {'weights': {'first': tensor([1., 1.])}}
    """
    found: dict[str, Any] = {}
    for name, value in _names(program, set()):
        device = next(_devices(value), None)
        if device is not None and device.type != "meta":
            found.setdefault(name, value)
    return found


def _names(program: Any, known: set[int]) -> Iterator[tuple[str, Any]]:
    """What a function, and the program's own functions that it calls, finds outside of itself, by name."""
    if id(program) in known:
        return
    known.add(id(program))
    if isinstance(program, functools.partial):
        yield from [("an argument of partial", program.args), *program.keywords.items()]
        yield from _names(program.func, known)
    elif isinstance(program, MethodType):
        yield from vars(program.__self__).items() if hasattr(program.__self__, "__dict__") else ()
        yield from _names(program.__func__, known)
    elif isinstance(program, FunctionType):
        cells = zip(program.__code__.co_freevars, program.__closure__ or (), strict=True)
        used = [(name, program.__globals__[name]) for name in _used(program.__code__) if name in program.__globals__]
        for name, value in [*((name, _content(cell)) for name, cell in cells), *used]:
            yield name, value
            if isinstance(value, FunctionType) and belongs_to_program(value.__code__.co_filename):
                yield from _names(value, known)
    elif isinstance(call := vars(type(program)).get("__call__"), FunctionType):
        yield from _names(MethodType(call, program), known)


def _used(code: CodeType) -> list[str]:
    """The names that code uses, and code inside it."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return list(dict.fromkeys([*code.co_names, *(name for each in inner for name in _used(each))]))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def _devices(value: Any) -> Iterator[torch.device]:
    if isinstance(value, torch.Tensor | torch.Generator):
        yield value.device
    elif isinstance(value, nn.Module):
        yield from (each.device for each in [*value.parameters(), *value.buffers()])
    elif isinstance(value, list | tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _devices(part)
