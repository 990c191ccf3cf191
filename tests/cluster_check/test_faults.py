"""Five faults, each on real processes and named by `check`: a slow link, a stopped rank, a wrong interface, a port that
is taken, a rank that never comes."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import torch.distributed as dist

from .hosts import NETWORK, hosts, on, slow_down

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CHECK = ["-m", "course_lib", "check"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--rdzv-backend=c10d"]
FOREIGN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GLOO_SOCKET_IFNAME", "MASTER_ADDR", "MASTER_PORT")


class Started:
    """A process and what it has said so far."""

    def __init__(self, command: list[str], folder: Path, name: str, variables: dict[str, str]) -> None:
        self.path = folder / f"{name}.txt"
        environment = {key: value for key, value in os.environ.items() if key not in FOREIGN} | {"OMP_NUM_THREADS": "1"}
        with self.path.open("w") as said:
            self.process = subprocess.Popen(
                command, cwd=folder, env=environment | variables, stdout=said, stderr=subprocess.STDOUT
            )

    @property
    def said(self) -> str:
        return self.path.read_text()

    def end(self) -> int:
        return self.process.wait(timeout=200)


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[..., Started]]:
    """A function that starts a command; what is left of it at the end of the test is ended."""
    started: list[Started] = []

    def begin(command: list[str], **variables: str) -> Started:
        started.append(Started(command, tmp_path, f"said{len(started)}", variables))
        return started[-1]

    yield begin
    for one in started:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(one.process.pid)
            for each in [*process.children(recursive=True), process]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()
        one.process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def rank(number: int, of: int, port: int) -> dict[str, str]:
    """What a launcher that is not torchrun puts into the environment; all ranks on one machine."""
    local = {"LOCAL_RANK": str(number), "LOCAL_WORLD_SIZE": str(of)}
    return {"RANK": str(number), "WORLD_SIZE": str(of), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), **local}


def test_two_agents_of_two_ranks_come_and_are_measured(start, tmp_path):
    meeting = ["--nnodes=2", "--nproc-per-node=2", f"--rdzv-endpoint=localhost:{free_port()}", "--local-addr=localhost"]
    agents = [start([*TORCHRUN, *meeting, *CHECK], GLOO_SOCKET_IFNAME="lo") for _ in range(2)]
    assert [agent.end() for agent in agents] == [0, 0], [agent.said for agent in agents]
    said = "".join(agent.said for agent in agents)
    assert said.count("4 ranks started by torchrun; 4 came, of 1 machine, to ") == 1
    assert len(re.findall(r"^[0-3] +\S+ +127\.0\.0\.1 \(lo\) +CPU ", said, re.MULTILINE)) == 4
    assert len(re.findall(r"^  \d - \d  .* at most$", said, re.MULTILINE)) == 6
    assert re.search(r"^  64 kB +[\d.]+ [µm]?s +[\d.]+ .B/s +[\d.]+ .B/s$", said, re.MULTILINE)
    assert "problem" not in said
    assert (tmp_path / "check.png").stat().st_size > 10_000


def test_a_slow_link_is_named_by_the_machine_at_its_end(start):
    with hosts(3) as names:
        slow_down(names[2], "40mbit")
        check = [sys.executable, *CHECK, "--nnodes=3", f"--endpoint={NETWORK}.1:29500"]
        started = [start([*on(name), *check, f"--node-rank={number}"]) for number, name in enumerate(names)]
        assert [one.end() for one in started] == [0, 0, 0], [one.said for one in started]
    said = started[0].said
    assert "3 came, of 3 machines" in said
    assert "note: 2 of 3 links between machines are slow; the slowest, host-" in said
    assert "all slow ones have machine host-c in common\n    See symptoms.md, It is slow: One slow rank, or one" in said


def wait_until_came(number: int, port: int) -> None:
    """Ask the ranks' own store until this one has said its facts there."""
    while True:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            break
        time.sleep(0.1)
    store = dist.TCPStore("127.0.0.1", port, is_master=False)
    while not store.check([f"check/0/the meeting/{number}"]):
        time.sleep(0.1)


def test_a_stopped_rank_is_named_with_the_phase_in_which_it_fell_silent(start):
    port, check = free_port(), [sys.executable, *CHECK, "--timeout=10"]
    first, other, stopped = (start(check, **rank(number, 3, port)) for number in range(3))
    wait_until_came(2, port)
    os.kill(stopped.process.pid, signal.SIGSTOP)
    assert [first.end(), other.end()] == [1, 1]
    said = rf"problem: rank 2 \(\S+, process {stopped.process.pid}\) fell silent in .*: the system calls it stopped"
    assert re.search(said, first.said), first.said
    assert "See symptoms.md, It dies: One rank died, and the others noticed." in first.said
    assert first.said.count("problem:") == 1


def test_a_wrong_interface_is_named_with_the_right_one(start):
    with hosts(2) as names:
        meeting = ["--nnodes=2", "--nproc-per-node=2", f"--rdzv-endpoint={NETWORK}.1:29500"]
        agents = [
            start(
                [
                    *on(name),
                    *TORCHRUN,
                    *meeting,
                    f"--rdzv-conf=is_host={number == 1}",
                    f"--local-addr={NETWORK}.{number}",
                    *CHECK,
                ],
                GLOO_SOCKET_IFNAME="eth0" if number == 1 else "lo",
            )
            for number, name in enumerate(names, start=1)
        ]
        assert 0 not in [agent.end() for agent in agents]
    said = "".join(agent.said for agent in agents)
    wrong = re.findall(r"problem: rank \d \(host-b, process \d+\) would let Gloo listen at 127\.0\.0\.1 \(lo\)", said)
    assert len(set(wrong)) == 2, said
    assert f"leads by {NETWORK}.2 (eth0): there, export GLOO_SOCKET_IFNAME=eth0" in said
    assert "See symptoms.md, Cluster: A wrong address, a closed port, the wrong network interface" in said


def test_a_taken_port_is_named_with_who_has_it(start):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ranks = [start([sys.executable, *CHECK, "--timeout=5"], **rank(number, 2, port)) for number in range(2)]
        assert [one.end() for one in ranks] == [1, 1]
    assert re.search(rf"problem: port {port} of this machine .* is taken by process {os.getpid()} ", ranks[0].said), (
        ranks[0].said
    )
    assert f"problem: at 127.0.0.1:{port} somebody listens who is not this run's rank 0" in ranks[1].said
    for one in ranks:
        assert "See symptoms.md, Cluster: Another run has the port, or what is left of one." in one.said


def test_two_by_hand_on_one_machine_are_told_to_say_their_number_and_come_if_they_do(start):
    check = [sys.executable, *CHECK, "--nnodes=2", "--picture="]
    first, second = (start([*check, f"--endpoint=127.0.0.1:{port}", "--timeout=10"]) for port in [free_port()] * 2)
    assert [first.end(), second.end()] == [1, 1]
    said = first.said + second.said
    assert re.search(
        r"is taken by process \d+ \(course_lib check\)\. Several on one machine: give each its --node-rank", said
    ), said
    port = free_port()
    numbered = [start([*check, f"--endpoint=127.0.0.1:{port}", f"--node-rank={number}"]) for number in range(2)]
    assert [one.end() for one in numbered] == [0, 0], [one.said for one in numbered]
    assert "2 ranks started by --nnodes; 2 came, of 1 machine" in numbered[0].said


def test_a_rank_that_never_comes_is_named_and_where_it_was_expected(start):
    port = free_port()
    ranks = [start([sys.executable, *CHECK, "--timeout=12"], **rank(number, 3, port)) for number in (0, 2)]
    assert [one.end() for one in ranks] == [1, 1]
    told = f"problem: rank 1 did not come to 127.0.0.1:{port}, the address that all were given; of its machine, "
    assert told in ranks[0].said, ranks[0].said
    assert "See symptoms.md, Cluster: Fewer processes came than the world size says" in ranks[0].said
    assert "problem" not in ranks[1].said


def test_who_comes_where_nobody_is_says_which_address_it_was_given(start):
    port = free_port()
    alone = start([sys.executable, *CHECK, "--timeout=2"], **rank(1, 2, port))
    assert alone.end() == 1
    assert f"was told to meet the others at 127.0.0.1:{port} and for 2 s reached nobody there" in alone.said
    assert "nobody listens at this port: rank 0 has not come, or is elsewhere" in alone.said


def test_a_name_that_nobody_knows_is_said(start):
    alone = start(
        [sys.executable, *CHECK, "--timeout=2"], **(rank(1, 2, 29500) | {"MASTER_ADDR": "no-such-machine.invalid"})
    )
    assert alone.end() == 1
    assert "meet the others at no-such-machine.invalid:29500 and for 2 s reached nobody there" in alone.said
    assert "knows no other of this name" in alone.said


def test_one_alone_is_told_how_to_start_more_and_measured(start):
    alone = start([sys.executable, *CHECK])
    assert alone.end() == 0, alone.said
    assert "1 rank started by nobody; 1 came" in alone.said
    assert "A matrix product" in alone.said
