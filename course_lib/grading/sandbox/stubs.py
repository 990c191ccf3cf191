"""Stubs for what a notebook imports and grading does not need; IPython's shell; and which libraries are preloaded.

A submission says `from course_lib import run, simulate` or `import matplotlib.pyplot as plt` at its top. Those imports
must not cost points, so they give objects that swallow everything. What the course itself has (all but that which only
shows) and PyTorch's global collectives are refused in words. Magics do nothing, and a command of the shell prints
nothing. All that a rank may import is loaded before ranks are forked, because a rank can open no file.
"""

from __future__ import annotations

import contextlib
import dis
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import operator
import pkgutil
import sys
import types
import warnings
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import torch.distributed
import tqdm

LIBRARIES = ("pandas", "requests", "scipy", "sklearn", "sympy")  # that an answer could lean on
SILENT = ("course_lib", "matplotlib", "IPython", "ipywidgets", "rich", "tabulate", *LIBRARIES)
LEFT_OUT = ("torch.onnx", "torch._dynamo", "torch._inductor")  # too big, and of no use without files
SHOWING = ("course_lib.draw", "course_lib.widgets", "course_lib.grading", "course_lib.notebooks")
EXERCISES = "course_lib.grading.exercises"
NO_FILES = "under grading there are no files, no network and no other processes"
COMM = Path(__file__).parents[2] / "comm"
# Modules that hold no answer, and what `course_lib` itself has of them: the network, and the communicator's contract.
REAL = {
    "network": ["Link", "Network"],
    "source_location": [],
    "collective": [],
    "communicator": ["Communicator", "Work"],
    "group": ["Group"],
}
COLLECTIVES = [
    "all_reduce",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "monitored_barrier",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "recv",
    "isend",
    "irecv",
    "batch_isend_irecv",
    "barrier",
    "init_process_group",
    "new_group",
]


class Nothing:
    """Does nothing, whatever one does with it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else self  # also as a decorator

    def __getitem__(self, key: Any) -> Any:
        return self

    def __iter__(self) -> Any:
        """As many as it is unpacked into (`figure, axes = plt.subplots()`), and none for a loop."""
        return iter([self] * _unpacked_into(sys._getframe(1)))

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        return None


def _unpacked_into(frame: types.FrameType) -> int:
    """How many values this frame unpacks right now."""
    operation, count = frame.f_code.co_code[frame.f_lasti : frame.f_lasti + 2]
    return count if dis.opname[operation].startswith("UNPACK_SEQUENCE") else 0


class Withheld(Nothing):
    """Something of the course, or of a library: nothing while cells are read, and refused when an answer uses it."""

    running = False  # whether the student's function runs, and not its cells

    def __init__(self, name: str = "course_lib", *args: Any, **kwargs: Any) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Withheld(f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse()
        return super().__call__(*args, **kwargs)

    def __iter__(self) -> Any:
        self._refuse()
        return iter([self] * _unpacked_into(sys._getframe(1)))

    def __getitem__(self, key: Any) -> Any:
        self._refuse()
        return self

    def _refuse(self) -> None:
        if Withheld.running:
            raise RuntimeError(not_there(self._name))


def not_there(name: str) -> str:
    """Why an answer cannot use this name."""
    if not name.startswith("course_lib"):
        return f"{name} is not there under grading: an answer has torch, numpy and the standard library"
    return f"{name} is not there under grading: what it does is yours to write"


def is_there(module: str) -> bool:
    """Whether this module, or something silent in its place, can be imported under grading."""
    root = module.split(".")[0]
    known = sys.stdlib_module_names | {"torch", "numpy", "tqdm", "typing_extensions", "__main__", *SILENT} - {
        *LIBRARIES
    }
    return root in known and not module.startswith(LEFT_OUT)


def begin() -> None:
    """From now on the student's function runs."""
    Withheld.running = True


class _Silent(types.ModuleType):
    """A module in which every name is `Nothing`, or `Withheld` where an answer should not lean on it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        if full == EXERCISES:
            raise _refusal()
        leant_on = full.startswith("course_lib.") and not full.startswith(SHOWING)
        return Withheld(full) if leant_on or full.split(".")[0] in LIBRARIES else Nothing()


def _refusal() -> ImportError:
    return ImportError(f"{EXERCISES} is not there under grading: the specifications belong to the judge")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds silent modules, and refuses the forbidden ones."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname == EXERCISES or fullname.startswith(EXERCISES + "."):
            raise _refusal()
        package, _, module = fullname.rpartition(".")
        if package == "course_lib.comm" and module in REAL:
            return importlib.util.spec_from_file_location(fullname, COMM / f"{module}.py")
        if fullname.split(".")[0] in SILENT:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        module = _Silent(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def _forbid(name: str) -> Any:
    def forbidden(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"torch.distributed.{name} is not there under grading: use the communicator's send and recv")

    return forbidden


class _Sizes(types.ModuleType):
    """What asks whether sizes are symbols: here they are plain numbers, so each question gives back what it asks."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda size, *_, **__: size


def _without_compiler() -> dict[str, types.ModuleType]:
    """What PyTorch's optimizers, autograd and torch.func want of its compiler, first called: too late, too big."""
    dynamo, shapes = types.ModuleType("torch._dynamo"), _Sizes("torch.fx.experimental.symbolic_shapes")
    vars(dynamo).update(disable=lambda function=None, *_, **__: function, graph_break=lambda *_, **__: None)
    vars(dynamo).update(compiled_autograd=types.SimpleNamespace(_disable=contextlib.nullcontext))
    vars(dynamo).update(config=types.SimpleNamespace(error_on_nested_fx_trace=False))
    vars(shapes).update(is_nested_int=lambda size: False, free_unbacked_symbols=lambda size: set())
    vars(shapes).update(sym_eq=operator.eq, sym_and=lambda *all_: all(all_), sym_or=lambda *any_: any(any_))
    algebra = _Silent("sympy")
    vars(algebra).update(Basic=type("Basic", (), {}), __path__=[])  # a size that is no number, and never comes
    inductor, config = types.ModuleType("torch._inductor"), types.ModuleType("torch._inductor.config")
    vars(inductor).update(config=config, __path__=[])  # torch.use_deterministic_algorithms tells it, too
    return {module.__name__: module for module in (dynamo, shapes, algebra, inductor, config)}


def install() -> None:
    """Put the stubs where imports look first. What `REAL` names is the course's own."""
    sys.meta_path.insert(0, _Finder())
    for name in ("set_num_threads", "set_num_interop_threads"):  # a rank has one, and torch ends it if it asks for more
        setattr(torch, name, lambda count: None)
    sys.modules.update(_without_compiler())
    for name in ("_dynamo", "_inductor"):
        setattr(torch, name, sys.modules[f"torch.{name}"])
    for name in COLLECTIVES:
        if hasattr(torch.distributed, name):
            setattr(torch.distributed, name, _forbid(name))
    for name in ("auto", "notebook"):  # a bar that nobody sees needs no widget
        sys.modules[f"tqdm.{name}"] = tqdm
        setattr(tqdm, name, tqdm)
    course_lib = importlib.import_module("course_lib")  # the silent one
    for module, names in REAL.items():
        loaded = importlib.import_module(f"course_lib.comm.{module}")
        vars(course_lib).update({name: getattr(loaded, name) for name in names})


class Printed(list[str]):
    """The lines that a command of the shell printed: none, for it has not run.

    >>> files = Printed()
    >>> len(files), files.s, files.grep("py")
    (0, '', [])
    """

    s = n = ""
    l = p = property(lambda self: self)  # noqa: E741  # IPython's names

    def grep(self, *_: Any, **__: Any) -> Printed:
        """Those lines with a word in them."""
        return self

    fields = grep

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return self
        raise PermissionError(f"this command has printed nothing: {NO_FILES}")


class Shell(Nothing):
    """What `get_ipython` gives."""

    def getoutput(self, *_: Any, **__: Any) -> Printed:
        """For `files = !ls`."""
        return Printed()

    def run_line_magic(self, name: str = "", *_: Any, **__: Any) -> Any:
        """For `here = %pwd`, a text; for others nothing."""
        return "" if name in ("pwd", "env") else Nothing()


# Of the standard library, what opens windows, prints, or belongs to Python's own tests and tools.
NOT_LOADED = {
    "antigravity",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "pydoc_data",
    "test",
    "this",
    "tkinter",
    "turtle",
    "venv",
}
NOT_LOADED |= {"turtledemo", "distutils", "nt", "msilib", "winreg", "winsound", "msvcrt"}
MORE = (
    "numpy.ctypeslib numpy.fft numpy.lib.stride_tricks numpy.linalg numpy.ma numpy.polynomial numpy.random numpy.rec "
    "numpy.testing numpy.typing torch._decomp.decompositions_for_jvp torch.autograd.forward_ad "
    "torch.autograd.functional torch.func torch.nn.functional torch.utils._device torch.utils.benchmark "
    "torch.utils.checkpoint torch.utils.data torch.utils.flop_counter torch.utils.serialization"
)


def load_all() -> None:
    """Import the standard library, and of numpy and torch what they import when it is first used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in chain(_standard_library(), MORE.split()):
            with contextlib.suppress(Exception):  # not on this system
                importlib.import_module(name)


def _standard_library() -> Iterator[str]:
    """The names of its public modules, and of those in its packages."""
    for name in sorted(sys.stdlib_module_names - NOT_LOADED):
        if not name.startswith("_"):
            yield name
            path = getattr(sys.modules.get(name), "__path__", [])
            inner = (each.name for each in pkgutil.walk_packages(path, f"{name}.") if path)
            yield from (each for each in inner if not _is_apart(each))


def _is_apart(name: str) -> bool:
    """Whether it is a program, a test, or made for one kind of system."""
    return any(part.startswith(("_", "test")) or "win32" in part or "windows" in part for part in name.split(".")[1:])
