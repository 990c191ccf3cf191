"""A program as each case, and each simulated rank, has it: with names and classes of its own, as in a process."""

from __future__ import annotations

import contextlib
import inspect
import io
import itertools
import pickle
import threading
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any

from course_lib.comm.program import ProgramPickler, pack

MAKERS = ("_make_skeleton_class", "_make_skeleton_enum")  # of cloudpickle, for classes that travel by value
LOCKS = {type(threading.Lock()): threading.Lock, type(threading.RLock()): threading.RLock}
BY_NAME = (type, FunctionType, BuiltinFunctionType)
_numbers = itertools.count()
_kept: dict[int, Any] = {}  # what cannot be copied, while a program that uses it is packed


@contextlib.contextmanager
def pack_own(program: Callable[..., Any]) -> Iterator[bytes]:
    """The program as `pack` packs it, to be unpacked in this process while this is open.

    More can travel here than to another process: what cannot be copied, a generator or a context variable, stays where
    it is, and all ranks share it; locks are made anew, and compiled functions travel as what was compiled.

    Raises:
        TransportError: if something still cannot be packed.
    """
    picklers: list[_Pickler] = []

    def pickler(data: io.BytesIO) -> _Pickler:
        picklers.append(_Pickler(data))
        return picklers[0]

    try:
        yield pack(program, (), None, pickler)
    finally:
        for number in [number for each in picklers for number in each.numbers]:
            del _kept[number]


def unpack_own(packed: bytes) -> Any:
    """What `pack` or `pack_own` has packed, each class of the notebook made anew.

    cloudpickle by itself makes one class for a whole process, so that simulated ranks would share its attributes.
    """
    return _Unpickler(io.BytesIO(packed)).load()


class _Pickler(ProgramPickler):
    def __init__(self, data: io.BytesIO) -> None:
        super().__init__(data)
        self.numbers: list[int] = []

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, FunctionType) and hasattr(obj, "_torchdynamo_orig_callable"):
            return _same, (obj._torchdynamo_orig_callable,)
        if type(obj) in LOCKS:
            return LOCKS[type(obj)], ()
        if isinstance(obj, contextlib._GeneratorContextManager) and _has_not_begun(obj.gen):
            return type(obj), (obj.func, obj.args, obj.kwds)
        reduced = super().reducer_override(obj)
        if reduced is not NotImplemented or isinstance(obj, BY_NAME) or type(obj) in self.dispatch_table:
            return reduced
        if _can_be_copied(obj):
            return reduced
        self.numbers.append(next(_numbers))
        _kept[self.numbers[-1]] = obj
        return _kept_one, (self.numbers[-1],)


def _kept_one(number: int) -> Any:
    return _kept[number]


def _same(value: Any) -> Any:
    return value


def _has_not_begun(generator: Any) -> bool:
    return inspect.isgenerator(generator) and inspect.getgeneratorstate(generator) == inspect.GEN_CREATED


def _can_be_copied(value: Any) -> bool:
    try:
        value.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    except Exception:  # a class may refuse it in any way
        return False
    return True


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return _untracked(found) if module.startswith("cloudpickle.") and name in MAKERS else found


def _untracked(make: Callable[..., Any]) -> Callable[..., Any]:
    """This maker of classes without the number by which it would find one that was made before."""
    return lambda *args: make(*args[:-2], None, args[-1])
