"""One case of an exercise in the student's own process: under `simulate`, or, without ranks, call by call.

Each case, and each simulated rank, has a copy of the program with globals and classes of its own, as a process has.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import inspect
import io
import itertools
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, FunctionType, TracebackType
from typing import Any

import torch

from course_lib.comm import simulate
from course_lib.comm.errors import CommError, DeadlockError, MismatchError, RankError, TransportError, UnmatchedError
from course_lib.comm.program import ProgramPickler, pack
from course_lib.comm.source_location import belongs_to_program, describe_line, text_of
from course_lib.comm.trace import Trace
from course_lib.grading.exercise import CASE_S, Case, Exercise, Failure, Outcome
from course_lib.grading.judge import UNREADABLE, as_under_grading, decode, encode, refuse_unrun, snapshot, with_tensors
from course_lib.grading.rehearsal.time_limit import OutOfTime, can_be_left, within
from course_lib.grading.rehearsal.watched import DtypeRefused, Watched

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
    picklers: list[_OwnPickler] = []

    def pickler(data: io.BytesIO) -> _OwnPickler:
        picklers.append(_OwnPickler(data))
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
    return _OwnUnpickler(io.BytesIO(packed)).load()


class _OwnPickler(ProgramPickler):
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


class _OwnUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return _untracked(found) if module.startswith("cloudpickle.") and name in MAKERS else found


def _untracked(make: Callable[..., Any]) -> Callable[..., Any]:
    """This maker of classes without the number by which it would find one that was made before."""
    return lambda *args: make(*args[:-2], None, args[-1])


LIMIT_S = float(CASE_S)  # of one case; the slowest honest answer needs a tenth of a second
KINDS = {DeadlockError: "deadlock", MismatchError: "mismatch", UnmatchedError: "unmatched"}


def run_case(exercise: Exercise, case: Case, function: Callable[..., Any]) -> Outcome:
    """What comes of this function on this case: values and trace, or the failure.

    Each case, and each simulated rank, has globals and classes of its own, as a process has; but pickle knows those of
    the notebook alone.
    """
    outcome = _outcome(exercise, case, function, unpack_own)
    if outcome.failure is not None and outcome.failure.cause == "PicklingError":
        return _outcome(exercise, case, function, pickle.loads)
    return outcome


def _outcome(exercise: Exercise, case: Case, function: Callable[..., Any], unpacked: Callable[[bytes], Any]) -> Outcome:
    nothing = [None] * len(case.expected)
    try:
        with within(LIMIT_S), as_under_grading(belongs_to_program), _no_running_loop():
            if exercise.mode == "function":
                return _calls(exercise, case, function, unpacked)
            starts = list(zip(case.begins_s or [0.0] * case.world_size, case.inputs, strict=True))
            with pack_own(function) as packed:
                arguments = (packed, starts, exercise.way, exercise.dtypes, unpacked)
                report = simulate(_on_rank, world_size=case.world_size, args=arguments, network=exercise.network)
            return Outcome(report.results, report.trace)
    except CommError as error:
        return Outcome(nothing, Trace(case.world_size, []), _failure(error))
    except (Exception, SystemExit) as error:
        return Outcome(nothing, Trace(case.world_size, []), _raised(error))


def _own(function: Callable[..., Any], unpacked: Callable[[bytes], Any]) -> Callable[..., Any]:
    """The function with globals that no other case has; itself, where they hold what cannot be copied."""
    try:
        with pack_own(function) as packed:
            own: Callable[..., Any] = unpacked(packed)[0]
    except TransportError:
        return function
    return own


def _calls(exercise: Exercise, case: Case, function: Callable[..., Any], unpacked: Callable[[bytes], Any]) -> Outcome:
    """A call for each of the inputs; the first that raises is the failure."""
    values: list[Any] = []

    def call_each() -> None:
        own = _own(function, unpacked)
        for inputs in case.inputs:
            values.append(_value(own, _unshared(inputs), exercise.way))

    try:
        can_be_left(call_each)
    except (Exception, SystemExit) as error:
        return Outcome([None] * len(case.expected), Trace(1, []), _raised(error, len(values)))
    return Outcome(values, Trace(1, []))


def _unshared(value: Any) -> Any:
    """A copy in which no list is there twice, as under the judge: what changes one changes no other."""
    return type(value)(map(_unshared, value)) if type(value) in (list, tuple) else copy.deepcopy(value)


def _on_rank(
    comm: Any,
    packed: bytes,
    starts: list[tuple[float, Any]],
    way: str,
    dtypes: Sequence[torch.dtype],
    unpacked: Callable[[bytes], Any],
) -> Any:
    function, watched = unpacked(packed)[0], Watched(comm, dtypes)
    begins_s, inputs = starts[comm.rank]
    if begins_s:
        comm.compute(begins_s)
    value = _value(function, inputs, way, watched)
    watched.transfers.ended()
    return value


def _value(function: Callable[..., Any], inputs: tuple[Any, ...], way: str, *first: Any) -> Any:
    returned = function(*first, *inputs)
    refuse_unrun(returned, way)
    return _as_read(snapshot(inputs[0] if way == "in place" else returned))


def _as_read(value: Any) -> Any:
    """A value as the judge reads it: no object of the student's, whose methods would run where nothing ends them.

    Raises:
        ValueError: if the judge could not.
    """
    try:
        return with_tensors(decode(encode(value)))
    except OutOfTime:
        raise
    except Exception as error:
        raise ValueError(f"{UNREADABLE} ({type(error).__name__}: {text_of(error)[:200]})") from None


@contextlib.contextmanager
def _no_running_loop() -> Iterator[None]:
    """Hide the event loop that a notebook's cells run in, as there is none under grading: `asyncio.run` refuses one."""
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)


def _failure(error: CommError) -> Failure:
    if isinstance(error, RankError):
        return _exception(error.cause_type, error.cause_text, error.rank, str(error).split("\n\n")[0])
    return Failure.of(error, KINDS.get(type(error), "died"))


def _raised(error: BaseException, call: int = 0) -> Failure:
    """A function without ranks raised this, or the time ran out."""
    name = type(error).__name__
    text = str(error)
    line = _line_of(error.__traceback__)
    if isinstance(error, OutOfTime):
        line = error.line or line
        who = f"rank {error.rank}" if line else "the program, or the messages between its ranks,"
        words = f"{who} was {text}" + (f", in {line}" if line else "") + " (an endless loop?)"
        return Failure("timeout", words, error.rank, line, "TimeoutError", call)
    failure = _exception(name, text, 0, f"rank 0 raised {name}: {text}" + (f" ({line})" if line else ""))
    return Failure(failure.kind, failure.text, 0, line, name, call)


def _line_of(traceback: TracebackType | None) -> str:
    """The student's innermost line."""
    line = ""
    while traceback:
        code = traceback.tb_frame.f_code
        if belongs_to_program(code.co_filename):
            line = describe_line(code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return line


def _exception(cause: str, text: str, rank: int, words: str) -> Failure:
    if cause == "NotImplementedError" and not text:  # torch says what it cannot do
        words = "not attempted yet: the function still raises NotImplementedError"
        return Failure("not attempted", words, rank, "", cause)
    if cause == DtypeRefused.__name__:
        return Failure("dtype", text, rank)
    return Failure("exception", words, rank, "", cause)
