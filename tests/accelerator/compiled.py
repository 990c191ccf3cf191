"""The stand-in device, compiled once on a machine and kept in the user's cache."""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import torch
from filelock import FileLock
from torch.utils import cpp_extension

SOURCES = [Path(__file__).with_name(name) for name in ("pretend.cpp", "pretend_device.h")]
FLAGS = ["-shared", "-fPIC", "-std=c++20", "-O0", "-w", "-DTORCH_EXTENSION_NAME=pretend_device"]
LIBRARIES = ["-ltorch", "-ltorch_cpu", "-ltorch_python", "-lc10"]
COMPILE_S = 900  # half a minute of one core; a busy machine takes minutes


def library() -> Path:
    """Where the compiled device lies: another place for each version of it, of torch and of Python."""
    sources = b"".join(source.read_bytes() for source in SOURCES)
    key = repr((sources, FLAGS, torch.__version__, sys.version_info[:2], platform.machine()))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "course_lib" / f"pretend-{hashlib.sha256(key.encode()).hexdigest()[:16]}" / "pretend_device.so"


@functools.cache
def why_not() -> str:
    """Why the device cannot be had here; "" if it can."""
    compiler = cpp_extension.get_cxx_compiler()
    if library().exists() or (sys.platform == "linux" and shutil.which(compiler)):
        return ""
    return f"the stand-in device needs a C++ compiler on Linux, and there is no {compiler} here"


def compiled() -> ModuleType:
    """The compiled device as a module; whoever asks first waits half a minute, and nobody afterwards.

    Raises:
        RuntimeError: if it cannot be compiled, with the compiler's words.
    """
    made = library()
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(made.with_name("lock")):
            if not made.exists():
                _compile(made)
    loader = importlib.machinery.ExtensionFileLoader("pretend_device", str(made))
    spec = importlib.util.spec_from_file_location("pretend_device", made, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _compile(made: Path) -> None:
    """Compile next to the place, and put it there in one step."""
    beside = made.with_name(f"{made.name}.{os.getpid()}")
    headers = [*cpp_extension.include_paths(), sysconfig.get_paths()["include"]]
    folders = cpp_extension.library_paths()
    command = [cpp_extension.get_cxx_compiler(), *FLAGS, *(f"-I{each}" for each in headers), str(SOURCES[0])]
    command += ["-o", str(beside), *(f"-L{each}" for each in folders), *LIBRARIES]
    command += [f"-Wl,-rpath,{each}" for each in folders]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_S)
    if done.returncode:
        raise RuntimeError(f"the stand-in device cannot be compiled:\n{done.stderr[-3000:]}")
    os.replace(beside, made)
