"""`course doctor`: whether this machine can run the course, and what to do where it cannot.

Each check returns one result, with advice where it is not good. A check takes what it judges as an argument, and reads
it from the machine where none is given.
"""

import multiprocessing
import os
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

GIB = 1024**3
MIB = 1024**2
GOOD = "good"
NOTE = "note"
PROBLEM = "problem"


@dataclass(frozen=True)
class DoctorResult:
    """What one check found: `level` is "good", "note" (the course runs, with less) or "problem" (it does not)."""

    subject: str
    level: str
    found: str
    advice: str = ""


def python_version(version: tuple[int, ...] = sys.version_info[:3]) -> DoctorResult:
    text = ".".join(str(part) for part in version)
    if version < (3, 11):
        return DoctorResult(
            "Python", PROBLEM, text, "Install Python 3.11 or newer, then `make setup PYTHON=python3.11`."
        )
    where = "" if sys.prefix == sys.base_prefix else f", environment {sys.prefix}"
    return DoctorResult("Python", GOOD, text + where)


def cores(count: int | None = None) -> DoctorResult:
    count = usable_cores() if count is None else count
    if count < 2:
        return DoctorResult(
            "Cores", NOTE, f"{count}", "Ranks take turns on one core: everything works, and measured times say little."
        )
    return DoctorResult("Cores", GOOD, f"{count}")


def memory(total_bytes: int | None = None, available_bytes: int | None = None) -> DoctorResult:
    if total_bytes is None or available_bytes is None:
        total_bytes, available_bytes = usable_memory_bytes()
    found = f"{available_bytes / GIB:.1f} GiB free of {total_bytes / GIB:.1f} GiB"
    if available_bytes < 1 * GIB:
        return DoctorResult(
            "Memory", PROBLEM, found, "Close other programs or shut down idle kernels: four ranks need 1 GiB."
        )
    if available_bytes < 3 * GIB:
        return DoctorResult(
            "Memory", NOTE, found, "Enough for 4 to 8 ranks. Close other programs before you start more."
        )
    return DoctorResult("Memory", GOOD, found)


def disk(free_bytes: int | None = None) -> DoctorResult:
    folder = tempfile.gettempdir()
    free_bytes = shutil.disk_usage(folder).free if free_bytes is None else free_bytes
    found = f"{free_bytes / GIB:.1f} GiB free in {folder}"
    if free_bytes < 200 * MIB:
        return DoctorResult("Disk", PROBLEM, found, f"Free some space, or point TMPDIR to a larger disk than {folder}.")
    if free_bytes < 2 * GIB:
        return DoctorResult("Disk", NOTE, found, "Enough to run. The chapters on storage write up to 1 GiB.")
    return DoctorResult("Disk", GOOD, found)


def shared_memory(free_bytes: int | None = None) -> DoctorResult:
    if free_bytes is None and not os.path.isdir("/dev/shm"):
        return DoctorResult("Shared memory", GOOD, "provided by the operating system")
    free_bytes = shutil.disk_usage("/dev/shm").free if free_bytes is None else free_bytes
    found = f"{free_bytes / MIB:.0f} MiB free in /dev/shm"
    if free_bytes < 16 * MIB:
        return DoctorResult("Shared memory", PROBLEM, found, "In a container, start it with --shm-size=1g.")
    return DoctorResult("Shared memory", GOOD, found)


def loopback() -> DoctorResult:
    """Send one byte to ourselves, as ranks on one machine do."""
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname(), timeout=5) as sender,
        ):
            sender.sendall(b"!")
            with server.accept()[0] as receiver:
                receiver.recv(1)
    except OSError as error:
        found = f"127.0.0.1 does not answer ({error})"
        return DoctorResult("Loopback", PROBLEM, found, "Bring it up: sudo ip link set lo up.")
    return DoctorResult("Loopback", GOOD, "127.0.0.1 answers")


def start_method(methods: list[str] | None = None) -> DoctorResult:
    methods = multiprocessing.get_all_start_methods() if methods is None else methods
    if "forkserver" in methods:
        return DoctorResult("Start method", GOOD, "forkserver: a run of 4 ranks starts in about 0.1 s")
    return DoctorResult(
        "Start method", NOTE, methods[0], "No forkserver here: a run of 4 ranks starts in some seconds. WSL has one."
    )


def pytorch() -> DoctorResult:
    if util.find_spec("torch") is None:
        return DoctorResult(
            "PyTorch", PROBLEM, "not installed in this environment", "Run `make setup`, then `.venv/bin/course doctor`."
        )
    import torch
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_gloo_available():
        return DoctorResult(
            "PyTorch", PROBLEM, f"{torch.__version__} without Gloo", "Install the official build: `make setup`."
        )
    return DoctorResult(
        "PyTorch", GOOD, f"{torch.__version__} with Gloo" + (" and NCCL" if dist.is_nccl_available() else "")
    )


def gpus() -> DoctorResult:
    if util.find_spec("torch") is None:
        return DoctorResult("GPUs", NOTE, "not examined: PyTorch is missing")
    import torch

    from course_lib.comm.devices import accelerator

    kind, count = accelerator()
    names = [torch.get_device_module(kind).get_device_name(index) for index in range(count)]
    if not names:
        return DoctorResult("GPUs", GOOD, "none; every chapter runs without one")
    return DoctorResult("GPUs", GOOD, f"{len(names)} x {names[0]}" if len(set(names)) == 1 else ", ".join(names))


def jupyter() -> DoctorResult:
    if util.find_spec("jupyterlab") is None:
        return DoctorResult("JupyterLab", PROBLEM, "not installed in this environment", "Run `make setup`.")
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    version, advice = metadata.version("jupyterlab"), "Run `python -m ipykernel install --sys-prefix`."
    try:
        kernel = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except NoSuchKernel:
        return DoctorResult("JupyterLab", PROBLEM, f"{version} without a Python kernel", advice)
    if kernel != sys.executable and not re.fullmatch(
        r"python[\d.]*", kernel
    ):  # Jupyter reads a bare name as this Python
        return DoctorResult("JupyterLab", PROBLEM, f"{version}, but its kernel is {kernel}", advice)
    return DoctorResult("JupyterLab", GOOD, f"{version}, kernel in this environment")


def chromium() -> DoctorResult:
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        advice = "Only developers need it, for `make test-browser`: sudo apt-get install chromium."
        return DoctorResult("Chromium", NOTE, "not found", advice)
    return DoctorResult("Chromium", GOOD, path)


def all_reduce_of_two_ranks() -> DoctorResult:
    """Start two real processes and let them add their ranks' numbers with PyTorch's own all-reduce."""
    subject = "2-rank all-reduce"
    try:
        from course_lib import run

        started_s = time.perf_counter()
        report = run(_sum_of_ranks, world_size=2, timeout_s=60.0)
    except Exception as error:  # whatever it is, the reader shall see it as one line of the table
        advice = "Mend the problems above first. If there are none, please report this line."
        return DoctorResult(subject, PROBLEM, f"{type(error).__name__}: {str(error).strip()[:300]}", advice)
    if report.results != [3.0, 3.0]:
        return DoctorResult(subject, PROBLEM, f"1 + 2 gave {report.results}", "Please report this line.")
    return DoctorResult(
        subject, GOOD, f"1 + 2 = 3 on both ranks, {time.perf_counter() - started_s:.1f} s with start-up (measured)"
    )


def _sum_of_ranks(comm) -> float:  # type: ignore[no-untyped-def]
    import torch
    import torch.distributed as dist

    tensor = torch.tensor([comm.rank + 1.0])
    dist.all_reduce(tensor)
    return tensor.item()


def usable_cores() -> int:
    """Return how many cores this process may use, which in a container can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usable_memory_bytes() -> tuple[int, int]:
    """Return total and available memory in bytes, as far as a container's limit allows."""
    import psutil

    machine = psutil.virtual_memory()
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.exists() else "max"
    if text == "max":
        return machine.total, machine.available
    used = int(Path("/sys/fs/cgroup/memory.current").read_text())
    return min(machine.total, int(text)), min(machine.available, max(0, int(text) - used))


CHECKS: tuple[Callable[[], DoctorResult], ...] = (
    python_version,
    cores,
    memory,
    disk,
    shared_memory,
    loopback,
    start_method,
    pytorch,
    gpus,
    jupyter,
    chromium,
    all_reduce_of_two_ranks,
)


def examine(checks: tuple[Callable[[], DoctorResult], ...] = CHECKS) -> Iterator[DoctorResult]:
    """Yield what each check found. A check that fails in a way of its own is a problem, not the end of the list."""
    for check in checks:
        try:
            yield check()
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
            yield DoctorResult(check.__name__.replace("_", " "), PROBLEM, found, "Please report this line.")


# --- `course doctor`: whether this machine can run the course, in plain words, and what to do where it cannot.


SIGNS = {GOOD: "[green]good[/]", NOTE: "[yellow]note[/]", PROBLEM: "[bold red]problem[/]"}


@click.command()
def doctor() -> None:
    """Say whether this machine can run the course, and what to do where it cannot. Exit status 1 if it cannot."""
    console = Console(highlight=False)
    with console.status("Examining this machine, and starting two ranks on it ..."):
        findings = list(examine())
    table = Table(title="Can this machine run the course?", title_justify="left", show_header=False, box=None)
    for finding in findings:
        advice = f"\n[italic]{escape(finding.advice)}[/]" if finding.advice else ""
        table.add_row(SIGNS[finding.level], finding.subject, escape(finding.found) + advice)
    console.print(table)
    problems = [finding.subject for finding in findings if finding.level == PROBLEM]
    if problems:
        console.print(f"Not yet: see {', '.join(problems)} above.")
        sys.exit(1)
    console.print("Yes. Start with `make lab`.")
