"""All that a rank may import: it is loaded before ranks are forked, for a rank can open no file."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from itertools import chain

# Of the standard library, what opens windows, prints, or belongs to Python's own tests and tools.
LEFT_OUT = {"antigravity", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "this", "tkinter", "turtle", "venv"}
LEFT_OUT |= {"turtledemo", "distutils", "nt", "msilib", "winreg", "winsound", "msvcrt"}
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
    for name in sorted(sys.stdlib_module_names - LEFT_OUT):
        if not name.startswith("_"):
            yield name
            path = getattr(sys.modules.get(name), "__path__", [])
            inner = (each.name for each in pkgutil.walk_packages(path, f"{name}.") if path)
            yield from (each for each in inner if not _is_apart(each))


def _is_apart(name: str) -> bool:
    """Whether it is a program, a test, or made for one kind of system."""
    return any(part.startswith(("_", "test")) or "win32" in part or "windows" in part for part in name.split(".")[1:])
