"""run() in a real Jupyter kernel: cells are named, an interrupt gives the prompt back, nothing outlives the kernel."""

import os
import tempfile
from collections.abc import Iterator

import psutil
import pytest
from notebook_kernel import Notebook

from course_lib.comm.processes.folder import sweep

pytestmark = pytest.mark.slow

HANG = "run(lambda comm: [print('up'), comm.recv(torch.ones(1), 0) if comm.rank else dist.barrier()], 3)"
NEXT_RUN = "run(lambda comm: comm.barrier() or comm.rank, 2).results"


@pytest.fixture
def notebook(tmp_path, monkeypatch) -> Iterator[Notebook]:
    opened = Notebook(tmp_path, monkeypatch)
    try:
        yield opened
    finally:
        opened.close()


def test_errors_name_the_cell_and_its_line_and_an_interrupt_gives_the_prompt_back(notebook):
    notebook.run("def wrong(comm):\n  comm.barrier()\n  if comm.rank:\n    return 1 / 0\n  comm.recv(torch.ones(1), 1)")
    for execute in ("run(wrong, 2)", "simulate(wrong, 2)"):
        shown = notebook.run(execute)
        assert "rank 1 raised ZeroDivisionError: division by zero\n  cell [2], line 4: return 1 / 0" in shown
        assert "course_lib" not in shown  # none of our own frames

    notebook.run("def stuck(comm):\n    x = torch.ones(1)\n\n    comm.recv(x, 1 - comm.rank)")  # the fifth cell
    for execute in ("run(stuck, 2)", "run(stuck, 2, network=Network(latency_s=1e-3))", "simulate(stuck, 2)"):
        assert "rank 0 waits in recv from 1, cell [5], line 4: comm.recv(x, 1 - comm.rank)" in notebook.run(execute)
    other = "run(lambda comm: comm.send(torch.ones(2), 1) if comm.rank == 0 else comm.recv(torch.ones(3), 0), 2)"
    assert "to 1, cell [9], line 1: run(lambda comm: comm.send(torch.ones(2), 1)" in notebook.run(other)

    # Ranks that hang inside the library, inside torch.distributed and in a loop of their own.
    for number, cell in enumerate((HANG, "run(lambda comm: [print('up')] and exec('while True: pass'), 2)")):
        hanging = notebook.start(cell)
        notebook.finish(hanging, until="up")
        assert notebook.folders()
        notebook.manager.interrupt_kernel()
        assert "KeyboardInterrupt" in notebook.finish(hanging)
        assert notebook.folders() == []
        assert [p for p in notebook.family() if p.ppid() != notebook.manager.provisioner.pid] == []
        assert notebook.run(NEXT_RUN) == "[0, 1]", number


def test_an_interrupt_ends_a_simulation_in_an_endless_loop(notebook):
    hanging = notebook.start("def loop(comm):\n    print('up')\n    while True: pass\nsimulate(loop, 2)")
    notebook.finish(hanging, until="up")
    notebook.manager.interrupt_kernel()
    assert "KeyboardInterrupt" in notebook.finish(hanging)
    assert notebook.run("import threading; [t.name for t in threading.enumerate() if 'rank' in t.name]") == "[]"
    assert notebook.run("simulate(lambda comm: comm.rank, 2).results") == "[0, 1]"


@pytest.mark.parametrize("end", ["restarted", "killed"])
def test_no_rank_and_no_folder_outlives_a_kernel_that_is(end, notebook, monkeypatch):
    notebook.finish(notebook.start(HANG), until="up")
    family = notebook.family()
    assert len(family) >= 4  # fork server and three ranks
    if end == "restarted":
        notebook.manager.restart_kernel(now=False)
        notebook.client.wait_for_ready(timeout=60)
    else:
        psutil.Process(notebook.manager.provisioner.pid).kill()
    assert psutil.wait_procs(family, timeout=20)[1] == []
    assert notebook.folders() == []
    if end == "restarted":
        assert notebook.run("from course_lib import run\n" + NEXT_RUN) == "[0, 1]"
    else:
        assert len(notebook.folders("crs-mp-*")) == 1
        monkeypatch.setattr(tempfile, "tempdir", str(notebook.folder))
        sweep("crs-mp-")  # as the next process does
        assert notebook.folders("crs-mp-*") == []


def test_a_kernel_that_is_shut_down_waits_for_nobody_and_leaves_no_folder(notebook):
    kernel = notebook.manager.provisioner.pid
    assert {os.getpgid(process.pid) for process in notebook.family()} & {kernel} == set()  # it waits for its group
    assert notebook.folders("crs-mp-*")
    assert notebook.shut_down() == 0
    assert notebook.folders("c*rs*-*") + notebook.folders("pymp-*") == []
