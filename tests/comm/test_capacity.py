"""How many ranks a machine, or a container on it, holds."""

from pathlib import Path

import psutil
import pytest

from course_lib import TransportError
from course_lib.comm.processes import machine as capacity


def test_too_little_memory_is_said_with_the_number_that_fits(monkeypatch):
    memory = psutil.virtual_memory()._replace(available=5 * 64 * 2**20)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    capacity.refuse_too_many(4, program_bytes=0)
    with pytest.raises(
        TransportError, match=r"holds at most 5 ranks, not 6: each needs about 67 MB and 0.3 GB are free"
    ):
        capacity.refuse_too_many(6, program_bytes=0)
    with pytest.raises(TransportError, match="holds at most 1 rank, not 2"):
        capacity.refuse_too_many(2, program_bytes=100 * 2**20)


@pytest.mark.parametrize(("files", "words"), [(140, "holds at most 10 ranks"), (64, "holds no rank now")])
def test_too_few_file_handles_are_said(monkeypatch, files, words):
    monkeypatch.setattr(capacity, "_max_open_files", lambda: files)
    with pytest.raises(TransportError, match=rf"{words}, not 11: this process may open {files} files .more: ulimit -n"):
        capacity.refuse_too_many(11, program_bytes=0)


def cgroup(folder: Path, limit: str, used: int, cache: int, version: int = 2) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = ("memory.max", "memory.current", "inactive_file")
    if version == 1:
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 1\n{names[2]} {cache}\n")


@pytest.mark.parametrize(
    ("own", "left"),
    [
        ("0::/jobs/one", [700, 400]),  # its own limit, and its parent's
        ("0::/not/seen/from/the/container", []),
        ("4:memory:/old\n0::/jobs", [60, 400]),
        ("3:cpu,memory:/old", [60]),
    ],
)
def test_the_memory_of_a_container_is_what_its_cgroups_leave(tmp_path, own, left):
    cgroup(tmp_path / "jobs" / "one", "1000", used=400, cache=100)
    cgroup(tmp_path / "jobs", "500", used=200, cache=100)
    cgroup(tmp_path, "max", used=200, cache=100)
    cgroup(tmp_path / "memory" / "old", "100", used=50, cache=10, version=1)
    (tmp_path / "own").write_text(f"{own}\n")
    assert list(capacity._left_in_cgroups(tmp_path, tmp_path / "own")) == left
    assert list(capacity._left_in_cgroups(tmp_path, tmp_path / "no such file")) == []


def test_ranks_that_fit_the_machine_but_not_its_container_are_refused(monkeypatch):
    monkeypatch.setattr(capacity, "_left_in_cgroups", lambda *_: iter([3 * 64 * 2**20, -5]))
    with pytest.raises(TransportError, match=r"holds no rank now, not 1: .* 0.0 GB are free"):
        capacity.refuse_too_many(1, program_bytes=0)
