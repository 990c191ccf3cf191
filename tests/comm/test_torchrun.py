"""A program under torchrun, on two agents of two processes each, and without torchrun."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from click.testing import CliRunner, Result

from course_lib import CommError, RankError, Report, Trace
from course_lib.cli.cluster import run as command
from course_lib.comm.processes.machine import find_position, interface_to_others
from course_lib.comm.transport.torchrun import find_program, summary, tell_agent

PROGRAMS = """
import os, sys, torch, torch.distributed as dist
from course_lib.collectives import ring_all_reduce

def ring(comm, elements):
    tensor = torch.full((elements,), comm.rank + 1.0)
    ring_all_reduce(comm, tensor)
    other = torch.full((elements,), comm.rank + 1.0)
    dist.all_reduce(other)
    return torch.equal(tensor, other), float(tensor.sum())

def one_raises(comm):
    if comm.rank == 3:
        raise KeyError("the key")  # here
    comm.recv(torch.ones(1), 3)

def left_over(comm):
    if comm.rank == 0:
        comm.isend(torch.ones(1), 1)  # nobody receives this

def two_lengths(comm):
    comm.send(torch.ones(4), 1) if comm.rank == 0 else comm.recv(torch.ones(6), 0)  # four and six

def alone(comm, *, word="none"):
    print("draws", torch.rand(1).shape)
    return word * 2, comm.rank, comm.world_size

def divides(comm):
    return 1 / 0

def leaves(comm):
    if comm.rank == 1:
        sys.exit(0)  # leaves here
    comm.recv(torch.ones(1), 1)

def vanishes(comm):
    comm.barrier()  # the last line
    if comm.rank == 1:
        os._exit(0)
    comm.recv(torch.ones(1), 1)

def deadlocks(comm):
    if comm.rank < 3:
        comm.start(lambda comm: comm.recv(torch.ones(1), (comm.rank + 1) % 3)).wait()  # all wait

def grid(comm):
    row = comm.group([0, 1] if comm.rank < 2 else [2, 3])
    column, tensor = comm.group([comm.rank % 2, comm.rank % 2 + 2]), torch.tensor([10**comm.rank])
    work = row.start(ring_all_reduce, tensor)
    row.barrier()
    work.wait()
    ring_all_reduce(column, tensor)
    return tensor.item()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "programs_of_mine.py").write_text(PROGRAMS)
    monkeypatch.chdir(tmp_path)
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    sys.modules.pop("programs_of_mine", None)
    sys.path[:] = [entry for entry in sys.path if entry != str(tmp_path)]


TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--rdzv-backend=c10d"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
ENVIRONMENT.pop("GLOO_SOCKET_IFNAME", None)


def agents(folder: Path, *arguments: str, nodes: int = 2) -> list[tuple[int, str, str]]:
    """Start that many torchrun agents of two processes each; (status, output, errors) of each."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    meeting = [f"--nnodes={nodes}", f"--rdzv-endpoint=localhost:{port}", "--local-addr=localhost"]
    environment = {**ENVIRONMENT, "GLOO_SOCKET_IFNAME": "lo"}
    return ends([[*TORCHRUN, *meeting, "-m", "course_lib", "run", *arguments]] * nodes, folder, environment)


def ends(commands: list[list[str]], folder: Path, environment: dict[str, str]) -> list[tuple[int, str, str]]:
    """Run them side by side; (status, output, errors) of each."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [subprocess.Popen(command, cwd=folder, env=environment, **pipes) for command in commands]
    said = [process.communicate(timeout=110) for process in started]
    return [(process.returncode, *texts) for process, texts in zip(started, said, strict=True)]


@pytest.fixture
def hosts() -> list[list[str]]:
    """Two hosts on this machine: network namespaces, each with a loopback, an interface `eth0` and an address.

    Each is the beginning of a command that runs there.
    """
    if shutil.which("ip") is None or os.getuid() != 0:
        pytest.skip("making hosts of network namespaces needs root and the command ip (Debian: iproute2)")
    names = [f"course{os.getpid()}{letter}" for letter in "ab"]
    cable = [part for name in names for part in ("eth0", "netns", name)]
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True, capture_output=True)
        subprocess.run(["ip", "link", "add", *cable[:3], "type", "veth", "peer", *cable[3:]], check=True)
        for number, name in enumerate(names, start=1):
            for words in (f"addr add 10.77.0.{number}/24 dev eth0", "link set eth0 up", "link set lo up"):
                subprocess.run(["ip", "-n", name, *words.split()], check=True)
        yield [["ip", "netns", "exec", name] for name in names]
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this machine makes no network namespaces: {error}")
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def on_hosts(hosts: list[list[str]], folder: Path) -> list[tuple[int, str, str]]:
    """An agent of two processes on each of the hosts: a ring all-reduce of 1000 elements."""
    meeting = ["--nnodes=2", "--rdzv-endpoint=10.77.0.1:29500", "--rdzv-conf"]
    commands = [
        [*host, *TORCHRUN, f"--local-addr=10.77.0.{number}", *meeting, f"is_host={number == 1}"]
        for number, host in enumerate(hosts, start=1)
    ]
    program = ["-m", "course_lib", "run", "programs_of_mine:ring", "--args", "[1000]"]
    return ends([[*command, *program] for command in commands], folder, ENVIRONMENT)


def test_groups_on_two_agents_add_up_in_rows_and_columns(folder):
    ended = agents(folder, "programs_of_mine:grid")
    assert [status for status, _, _ in ended] == [0, 0], ended
    assert "".join(said for _, said, _ in ended).count(" 1111\n") == 4


@pytest.mark.slow
def test_ranks_on_two_hosts_with_addresses_of_their_own_run_a_program(folder, hosts):
    ended = on_hosts(hosts, folder)
    assert [status for status, _, _ in ended] == [0, 0], ended
    assert "4 ranks, gloo, cpu on each of 2 nodes: " in ended[0][1]
    assert ended[0][1].count("(True, 10000.0)") == 4


@pytest.mark.parametrize(
    ("address", "interfaces", "chosen"),
    [
        ("10.77.0.1", ["lo", "eth0", "docker0"], ""),
        ("127.0.1.1", ["lo", "eth0"], "eth0"),
        ("127.0.1.1", ["lo", "eth0", "docker0"], "interfaces eth0, docker0, and"),
        (None, ["lo"], "interfaces lo only, and"),
    ],
)
def test_where_a_machines_name_stands_for_its_loopback_another_interface_is_found(
    monkeypatch, address, interfaces, chosen
):
    def look_up(name):
        if address is None:
            raise socket.gaierror
        return address

    found = {name: [SimpleNamespace(family=socket.AF_INET, address=f"10.0.0.{n}")] for n, name in enumerate(interfaces)}
    found["lo"] = [SimpleNamespace(family=socket.AF_INET, address="127.0.0.1")]
    monkeypatch.setattr(socket, "gethostbyname", look_up)
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: found)
    if " " not in chosen:
        assert interface_to_others() == chosen
    else:
        with pytest.raises(CommError, match=rf"(?s){chosen}.*export GLOO_SOCKET_IFNAME=eth0"):
            interface_to_others()


@pytest.mark.slow
def test_four_ranks_of_two_agents_run_a_program_and_rank_0_reports(folder):
    ended = agents(folder, "programs_of_mine:ring", "--args", "[1000]", "--trace", "trace.json")
    assert [status for status, _, _ in ended] == [0, 0], ended
    told = [output for _, output, _ in ended if "ranks" in output]
    assert len(told) == 1
    first, _, *rows = told[0].splitlines()
    assert first.startswith("4 ranks, gloo, cpu on each of 2 nodes: ")
    assert first.endswith("(measured), 24 messages in 6 steps, 24000 bytes")
    # Each rank sends 6 messages of 1000 / 4 floats.
    assert [(row.split()[:4], row.split()[5:]) for row in rows] == [
        ([str(rank), "6", "6000", "6000"], ["(True,", "10000.0)"]) for rank in range(4)
    ]
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    assert sum(event["ph"] == "s" for event in events) == 24


@pytest.mark.slow
def test_the_rank_that_raises_is_named_and_not_the_ranks_that_only_saw_it_vanish(folder):
    ended = agents(folder, "programs_of_mine:one_raises")
    assert all(status != 0 for status, _, _ in ended)
    errors = "".join(text for _, _, text in ended)
    assert "RankError: rank 3 raised KeyError: 'the key'" in errors
    assert 'raise KeyError("the key")  # here' in errors
    assert "Connection closed by peer" not in errors


LEFT = {
    "leaves": r"RankError: rank 1 raised SystemExit: 0\n  .*# leaves here\n",
    "vanishes": r"RankDiedError: rank 1 has left without an answer, .* it waited last in\n  .*# the last line\n",
    "deadlocks": r"DeadlockError: no rank can go on:\n  rank 0 waits for a function it started, .*# all wait\n"
    r"(.*\n){5}  finished already: rank 3\n  the circle: 0 -> 1 -> 2 -> 0\n",
}


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("program", LEFT)
def test_who_leaves_or_waits_in_a_circle_is_named_once_and_nobody_hangs(folder, program):
    ended = agents(folder, f"programs_of_mine:{program}")
    errors = "".join(text for _, _, text in ended)
    assert 0 not in [status for status, _, _ in ended]
    ours = errors.split("torch/distributed/elastic")[0]
    assert re.search(LEFT[program], errors), errors
    assert ours.count("Error:") == 1
    assert "File " not in ours  # no traceback of ours


@pytest.mark.slow
def test_messages_left_over_fail_the_run(folder):
    ((status, output, errors),) = agents(folder, "programs_of_mine:left_over", nodes=1)
    assert status != 0
    assert output.startswith("2 ranks, gloo, cpu: ")
    assert "UnmatchedError" in errors
    assert "# nobody receives this" in errors


@pytest.mark.slow
def test_sides_that_disagree_fail_the_run(folder):
    ((status, _, errors),) = agents(folder, "programs_of_mine:two_lengths", nodes=1)
    assert status != 0
    assert "MismatchError" in errors
    assert "rank 0 sends torch.float32 of shape (4,) to 1" in errors
    assert errors.count("# four and six") >= 2


def call(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_without_torchrun_one_rank_runs_and_says_how_to_start_more(folder):
    done = call("programs_of_mine:alone", "--args", '{"word": "ha"}', "--trace", "trace.json")
    assert done.exit_code == 0, done.output
    assert "torchrun --nproc-per-node 4 -m course_lib run programs_of_mine:alone" in done.output
    assert "('haha', 0, 1)" in done.output
    assert "1 rank, gloo, cpu: " in done.output
    assert json.loads((folder / "trace.json").read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"RANK": "5", "WORLD_SIZE": "2"}, "RANK must be from 0 to WORLD_SIZE - 1, got 5 of 2"),
        ({"RANK": "-1", "WORLD_SIZE": "2"}, "RANK must be from 0 to WORLD_SIZE - 1, got -1 of 2"),
        ({"RANK": "0", "WORLD_SIZE": "0"}, "RANK must be from 0 to WORLD_SIZE - 1, got 0 of 0"),
        ({"RANK": "one", "WORLD_SIZE": "2"}, "the variable RANK must be a whole number, got 'one'"),
        (
            {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "2"},
            "LOCAL_RANK must be from 0 to LOCAL_WORLD_SIZE - 1, got 2 of 2",
        ),
    ],
)
def test_a_place_that_is_not_there_is_refused_before_anybody_is_waited_for(monkeypatch, variables, words):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=words):
        find_position()


def test_torchruns_summary_gets_the_first_lines_of_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))
    tell_agent(RankError(1, "KeyError", "'the key'", "a.py, line 3: here", "Traceback: and so on"))
    message = json.loads((tmp_path / "error.json").read_text())["message"]
    assert message["message"] == "RankError: rank 1 raised KeyError: 'the key'\n  a.py, line 3: here"
    assert message["extraInfo"]["py_callstack"] == message["message"]


def test_an_exception_is_told_with_its_line_and_status_1_and_the_next_run_works(folder):
    done = call("programs_of_mine:divides")
    assert done.exit_code == 1
    assert "RankError: rank 0 raised ZeroDivisionError: division by zero" in done.output
    assert "programs_of_mine.py, line 29: return 1 / 0" in done.output
    assert call("programs_of_mine:alone").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ring"], "say which function of which module to run, as module:function, got 'ring'"),
        (["no_such_module:ring"], "there is no module 'no_such_module' in "),
        (["programs_of_mine:no_such"], "module 'programs_of_mine' has no function 'no_such'"),
        (["programs_of_mine:alone", "--args", "[1"], "--args is not JSON"),
        (["programs_of_mine:alone", "--args", "3"], "--args must be a JSON list or object, got 3"),
    ],
)
def test_what_cannot_be_run_is_refused_with_what_was_given(folder, arguments, words):
    done = call(*arguments)
    assert done.exit_code == 2
    assert words in done.output


def test_a_module_that_misses_another_one_fails_with_its_own_error(folder):
    (folder / "misses.py").write_text("import no_such_module_at_all")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all"):
        find_program("misses:program")


def test_the_summary_of_many_ranks_is_cut():
    report = Report([None] * 100, 0.5, Trace(100, []), "measured", "gloo, cpu")
    lines = summary(report).splitlines()
    assert len(lines) == 2 + 32 + 1
    assert lines[-1] == "   ... and 68 more ranks"
