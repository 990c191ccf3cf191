"""What an answer borrows that is not there under grading, of the course or a library: found without running it."""

from __future__ import annotations

import dis
import pkgutil
import types
from collections.abc import Callable, Iterator
from typing import Any

import course_lib
from course_lib.grading.sandbox.stubs import LIBRARIES, SHOWING, is_there

_NAMES = [f"course_lib.{module.name}" for module in pkgutil.iter_modules(course_lib.__path__)]
WITHHELD = tuple(name for name in _NAMES if name not in (*SHOWING, "course_lib.comm"))


def borrowed(function: Callable[..., Any]) -> str | None:
    """The name of something of the course, or of a library, that is not there under grading, if `function` uses it.

    Functions of the notebook that it uses are looked at, too.

    >>> from course_lib.collectives import ring_all_reduce
    >>> borrowed(lambda comm, tensor: ring_all_reduce(comm, tensor))
    'course_lib.collectives.ring_all_reduce'
    >>> borrowed(lambda comm, tensor: comm.send(tensor, 0)) is None
    True
    """
    if _is_withheld(_full_name(function)):
        return _full_name(function)
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        one = waiting.pop()
        one = getattr(one, "_torchdynamo_orig_callable", one)  # what torch.compile was given
        if not isinstance(one, types.FunctionType) or id(one) in seen:
            continue
        seen.add(id(one))
        library = next((name for name in _imports(one.__code__) if not is_there(name)), None)
        if library:
            return library
        for name in _names(one.__code__):
            value = one.__globals__.get(name)
            full = _full_name(name if value is None else value)
            if isinstance(value, types.ModuleType) and not is_there(full):
                return full
            if _is_withheld(full) and (value is not None or full not in LIBRARIES):  # a bare name may be an attribute's
                return full
            if getattr(value, "__module__", None) == one.__module__:
                waiting.append(value)
    return None


def _is_withheld(name: str) -> bool:
    return name.startswith(WITHHELD) or name.split(".")[0] in LIBRARIES


def _names(code: types.CodeType) -> Iterator[str]:
    """The global names that this code mentions, and the modules that it imports."""
    yield from code.co_names
    if "course_lib" in code.co_names:
        yield from (f"course_lib.{name}" for name in code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _imports(code: types.CodeType) -> Iterator[str]:
    """The modules that this code imports while it runs."""
    yield from (each.argval for each in dis.get_instructions(code) if each.opname == "IMPORT_NAME")
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _imports(constant)


def _full_name(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, types.ModuleType):
        return value.__name__
    module = str(getattr(value, "__module__", ""))
    package = next((each for each in WITHHELD if module.startswith(each)), module)
    return f"{package}.{getattr(value, '__name__', type(value).__name__)}"
