"""Programs on their way to ranks: packed once, unpacked by each rank, so that no two ranks share anything."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import linecache
import operator
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real
from types import CodeType, CoroutineType, FunctionType, GeneratorType, MethodType
from typing import Any, SupportsIndex

import cloudpickle
import numpy as np
import torch
from torch import nn

from course_lib.comm.devices import accelerator, module_in_use
from course_lib.comm.errors import TransportError
from course_lib.comm.source_location import belongs_to_program, text_of


def check_world_size(world_size: SupportsIndex) -> int:
    """The number of ranks as an int; numpy's whole numbers are some, too.

    Raises:
        ValueError: unless it is a whole number of at least 1.
    """
    whole = isinstance(world_size, SupportsIndex) and not isinstance(world_size, (bool, torch.Tensor))
    if not whole or operator.index(world_size) < 1:
        raise ValueError(f"world_size must be a whole number of ranks, at least 1, got {world_size!r}")
    return operator.index(world_size)


def check_timeout(timeout_s: Any) -> None:
    """Refuse what is no number of seconds.

    Raises:
        ValueError: unless it is a number above 0; `math.inf` is one.
    """
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, Real) or not float(timeout_s) > 0:
        rule = "timeout_s must be a number of seconds more than 0 (math.inf: no limit)"
        raise ValueError(f"{rule}, got {timeout_s!r}")


def pack(
    program: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    pickler: Callable[[io.BytesIO], ProgramPickler] | None = None,
) -> bytes:
    """The program with its closure and arguments as bytes; functions of a notebook travel by value.

    Args:
        pickler: makes another one than `ProgramPickler`.

    Raises:
        TypeError: if `program` cannot be called.
        TransportError: if something in it cannot be pickled.
    """
    if not callable(program):
        raise TypeError(f"program must be a function of (comm, ...), got {type(program).__name__}")
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args must be a tuple, as in args=(tensor,), got {type(args).__name__}")
    try:
        data = io.BytesIO()
        (pickler or ProgramPickler)(data).dump((program, tuple(args), dict(kwargs or {})))
        return data.getvalue()
    except Exception as error:
        name = getattr(program, "__name__", repr(program))
        raise TransportError(
            f"{name} cannot travel to the ranks: {type(error).__name__}: {error}\n"
            "Everything it uses is copied to each rank. Open files, locks, sockets and generators cannot be copied: "
            "make them inside the program."
        ) from error


# What torch's own way through pickle cannot read again: they travel as whole numbers of the same bits.
_NEW_DTYPES = {
    dtype
    for name, dtype in vars(torch).items()
    if isinstance(dtype, torch.dtype) and name.startswith(("float8", "float4", "uint16", "uint32", "uint64"))
}
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class ResultPickler(cloudpickle.Pickler):
    """Tensors of every dtype travel."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is torch.Tensor and obj.dtype in _NEW_DTYPES:
            return _of_bits, (obj.detach().contiguous().view(_BITS[obj.dtype.itemsize]), obj.dtype)
        return super().reducer_override(obj)


def _of_bits(bits: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return bits.view(dtype)


class ProgramPickler(ResultPickler):
    """A notebook's cached function travels by value and with an empty cache, as the function in it does."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, functools._lru_cache_wrapper) and getattr(obj, "__module__", "") == "__main__":
            return _cached, (obj.__wrapped__, obj.cache_parameters())
        return super().reducer_override(obj)

    def _dynamic_function_reduce(self, func: Any) -> Any:
        """What a library's decorator makes of a notebook's function keeps the library's own names."""
        make, args, (state, slots), *rest = super()._dynamic_function_reduce(func)
        module = sys.modules.get(func.__globals__.get("__name__", ""))
        if module is not None and module.__name__ != "__main__" and vars(module) is func.__globals__:
            args, slots = (args[0], _NamesOf(module.__name__), *args[2:]), {**slots, "__globals__": {}}
        return make, args, (state, slots), *rest


class _NamesOf:
    """Unpacked, it is the names of this module."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __reduce__(self) -> Any:
        return _names_of, (self.module,)


def _names_of(module: str) -> dict[str, Any]:
    return vars(importlib.import_module(module))


def _cached(function: Callable[..., Any], parameters: dict[str, Any]) -> Callable[..., Any]:
    return functools.lru_cache(**parameters)(function)


def unpack(packed: bytes) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """A fresh copy of the program and its arguments."""
    return cloudpickle.loads(packed)


def refuse_generators(result: Any, rank: int) -> None:
    """Return if no generator is in what a rank returned, or in lists, tuples and dictionaries of it.

    Raises:
        TransportError: as `pack_result` does, which refuses more.
    """
    left, seen = [result], set()
    while left:
        value = left.pop()
        if isinstance(value, (GeneratorType, CoroutineType)):
            raise _cannot_travel_back(rank, TypeError(f"cannot pickle {type(value).__name__!r} object"))
        if isinstance(value, (list, tuple, dict)) and id(value) not in seen:
            seen.add(id(value))
            left += value.values() if isinstance(value, dict) else value


def pack_result(result: Any, rank: int) -> bytes:
    """What a rank returned, as bytes.

    Raises:
        TransportError: if something in it cannot be pickled.
    """
    try:
        data = io.BytesIO()
        ResultPickler(data).dump(result)
        return data.getvalue()
    except Exception as error:
        raise _cannot_travel_back(rank, error) from error


def _cannot_travel_back(rank: int, error: Exception) -> TransportError:
    return TransportError(
        f"what rank {rank} returned cannot travel back: {type(error).__name__}: {error}\n"
        "Return tensors, numbers, strings, or lists and dictionaries of them."
    )


def unpack_result(packed: bytes, who: str) -> Any:
    """What `pack_result` has packed, as `who` returned it.

    Raises:
        TransportError: if it cannot be unpacked.
    """
    try:
        return cloudpickle.loads(packed)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a result may even exit while it is unpacked
        raise TransportError(
            f"what {who} returned cannot be unpacked: {type(error).__name__}: {text_of(error)}"
        ) from error


@contextlib.contextmanager
def fixed_seeds() -> Iterator[None]:
    """Random numbers of torch, numpy and random begin at seed 0 inside; those of the caller go on where they were."""
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 (programs may use it)
    module = module_in_use()
    forked = {"devices": range(module.device_count()), "device_type": accelerator()[0]} if module else {"devices": []}
    with torch.random.fork_rng(**forked):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        torch.manual_seed(0)
        try:
            yield
        finally:
            random.setstate(python_state)
            np.random.set_state(numpy_state)  # noqa: NPY002


def seed_rank(rank: int) -> None:
    """Every rank draws its own numbers, the same ones in each run."""
    random.seed(rank)
    np.random.seed(rank)  # noqa: NPY002
    torch.manual_seed(rank)


def has_meta_tensor(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> bool:
    """True if an argument is a meta tensor: a message without payload."""
    values = [*args, *(kwargs or {}).values()]
    return any(isinstance(value, torch.Tensor) and value.is_meta for value in values)


def notebook_lines() -> dict[str, tuple[Any, ...]]:
    """The source lines of the notebook's cells, so that a traceback in another process can show them."""
    return {
        name: entry
        for name, entry in linecache.cache.items()
        if len(entry) == 4 and ("ipykernel_" in name or name.startswith("<ipython"))
    }


# --- What a program brings along from outside, such as a notebook's tensors: it stays on the device where it was made.


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
