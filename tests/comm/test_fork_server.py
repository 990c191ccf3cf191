"""The fork server, and what its processes get and leave."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from multiprocessing import spawn, util

import psutil
import pytest

from course_lib import TransportError, run, warm_up
from course_lib.chapters import chapters
from course_lib.comm.processes import fork_server


def test_warming_up_twice_keeps_one_fork_server():
    warm_up()
    before = {p.pid for p in psutil.Process().children()}
    warm_up()
    assert {p.pid for p in psutil.Process().children()} == before


def test_a_run_leaves_the_callers_environment_and_multiprocessing_as_they_were():
    environment, prepare = dict(os.environ), spawn.get_preparation_data
    run(lambda comm: None, 2)
    assert dict(os.environ) == environment
    assert spawn.get_preparation_data is prepare


def test_runs_in_several_threads_leave_them_as_they_were():
    environment, prepare = dict(os.environ), spawn.get_preparation_data
    results: list = []
    threads = [
        threading.Thread(target=lambda: results.extend(run(lambda comm: comm.rank, 2).results)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0] * 4 + [1] * 4
    assert dict(os.environ) == environment
    assert spawn.get_preparation_data is prepare


def test_only_the_thread_that_starts_ranks_hides_main_from_them(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "script.py", raising=False)
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)

    def hidden() -> bool:
        return "init_main_from_path" not in spawn.get_preparation_data("x")

    seen = []
    other = threading.Thread(target=lambda: seen.append(hidden()))
    with fork_server.without_main():
        other.start()
        other.join()
        assert hidden()
    assert (seen, hidden()) == ([False], False)


def test_a_start_sets_no_variable_while_the_fork_server_runs(monkeypatch):
    warm_up()
    monkeypatch.setattr(fork_server, "_quiet_environment", None)
    assert run(lambda comm: comm.rank, 2).results == [0, 1]


def kill_the_fork_server():
    os.kill(fork_server._server()._forkserver_pid, signal.SIGKILL)


def remove_its_folder():
    shutil.rmtree(util.get_temp_dir())


@pytest.mark.parametrize("lose", [kill_the_fork_server, remove_its_folder])
def test_a_fork_server_that_is_lost_is_replaced(lose):
    warm_up()
    lose()
    assert run(lambda comm: comm.rank, 2).results == [0, 1]


def test_a_fork_server_that_is_lost_again_and_again_is_said(monkeypatch):
    def lose(_process):
        raise EOFError("unexpected EOF")

    tries = []
    monkeypatch.setattr(fork_server, "_discard_fork_server", lambda: tries.append(1))
    monkeypatch.setattr("multiprocessing.context.ForkServerProcess.start", lose)
    with pytest.raises(TransportError, match="no process could be started: EOFError: unexpected EOF"):
        run(lambda comm: comm.rank, 2)
    assert len(tries) == 2


def test_a_deleted_working_directory_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    with pytest.raises(TransportError, match="the working directory of this process has been deleted"):
        run(lambda comm: None, 2)


def test_a_folder_whose_name_is_too_long_for_a_socket_is_said():
    assert "set TMPDIR to a shorter one" in fork_server._advice(OSError("AF_UNIX path too long"))
    assert "ulimit -n" in fork_server._advice(OSError(errno.EMFILE, "Too many open files"))
    assert fork_server._advice(OSError(errno.EPERM, "no")) == ""


def test_macos_gets_processes_that_are_no_forks(monkeypatch):
    assert fork_server._context().get_start_method() == "forkserver"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert fork_server._context().get_start_method() == "spawn"


@pytest.mark.slow
def test_ranks_run_without_a_fork_server_too(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    environment = dict(os.environ)
    assert run(lambda comm: comm.barrier() or comm.rank, 2).results == [0, 1]
    assert dict(os.environ) == environment


def test_a_package_that_asks_for_it_is_imported_in_every_fresh_process_of_a_later_fork_server(monkeypatch):
    asked = "mailbox"  # nothing that any package of the course imports
    monkeypatch.setattr(fork_server, "_PRELOADED", [*fork_server._PRELOADED])
    fork_server._discard_fork_server()
    assert run(lambda comm: asked in sys.modules, 1).results == [False]
    fork_server.preload(asked)
    fork_server.preload(asked)
    assert fork_server._PRELOADED.count(asked) == 1
    fork_server._discard_fork_server()
    assert run(lambda comm: asked in sys.modules, 1).results == [True]
    fork_server._discard_fork_server()


def test_a_run_reads_no_chapter_and_has_none_loaded():
    """Neither the process that asks nor its ranks, unless the program does."""
    program = "lambda comm: [name for name in __import__('sys').modules if name in names]"
    names = ["course_lib.chapters", *(f"course_lib.{chapter.name}" for chapter in chapters())]
    code = f"import sys; from course_lib import run; names = {names}; here = {program}"
    told = subprocess.run(
        [sys.executable, "-c", f"{code}; print(run(here, 1).results, here(None))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "[[]] []\n"


def test_ranks_use_one_thread_and_work_in_the_callers_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def program(comm):
        import torch

        return torch.get_num_threads(), os.getcwd(), os.environ["RANK"], os.environ["WORLD_SIZE"]

    assert run(program, 2).results == [(1, str(tmp_path), str(rank), "2") for rank in range(2)]


def test_variables_set_after_the_fork_server_started_arrive_too(monkeypatch):
    warm_up()
    monkeypatch.setenv("MY_OWN_VARIABLE", "set late")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    results = run(lambda comm: (os.environ["MY_OWN_VARIABLE"], os.environ["OMP_NUM_THREADS"]), 2).results
    assert results == [("set late", "1")] * 2


def test_a_rank_may_start_processes_of_its_own():
    def program(comm):
        from torch.utils.data import DataLoader

        return [batch.tolist() for batch in DataLoader([1, 2, 3, 4], batch_size=2, num_workers=1)]

    assert run(program, 2).results == [[[1, 2], [3, 4]]] * 2


def test_every_run_has_fresh_processes():
    first, second = (run(lambda comm: os.getpid(), 2).results for _ in range(2))
    assert len({*first, *second, os.getpid()}) == 5


def test_ranks_are_forked_from_a_server_that_asks_for_huge_pages():
    servers = run(lambda comm: psutil.Process().parent().environ()["GLIBC_TUNABLES"], 2).results
    assert servers == ["glibc.malloc.hugetlb=1"] * 2
