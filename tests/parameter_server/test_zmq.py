"""Messages over ZeroMQ, and processes that are started and killed one by one."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cloudpickle
import psutil
import pytest
import torch

from course_lib import RankDiedError, RankError, RankTimeoutError, TransportError, simulate
from course_lib.comm.processes.folder import RunFolder
from course_lib.parameter_server import (
    CommMailbox,
    Message,
    Server,
    Sgd,
    Worker,
    asynchronous,
    run_actor,
    shard_length,
    shard_plan,
    stale_synchronous,
    synchronous,
)
from course_lib.parameter_server.fault_tolerance import MemberProcesses, ZmqMailbox, run_members
from course_lib.parameter_server.fault_tolerance import cluster as cluster_module

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if these programs were written in a notebook


@pytest.fixture(autouse=True)
def nothing_stays(monkeypatch) -> Iterator[None]:
    """After every test of this file: no member lives, no folder lies about."""
    folders, make = [], tempfile.mkdtemp

    def noted(*args, **kwargs):
        folders.append(make(*args, **kwargs))
        return folders[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", noted)
    others = set(psutil.Process().children(recursive=True))  # a grader of other tests lives as long as they
    yield
    left = set(psutil.Process().children(recursive=True)) - others
    members = [p for p in left if p.ppid() != os.getpid()]
    assert psutil.wait_procs(members, timeout=20)[1] == []
    assert [folder for folder in folders if "course-ps-" in folder and Path(folder).exists()] == []


@pytest.fixture
def box() -> Iterator[Callable[..., ZmqMailbox]]:
    """Mailboxes at addresses of one short-named folder, all closed in the end."""
    opened: list[ZmqMailbox] = []
    with tempfile.TemporaryDirectory() as folder:

        def open_box(*args, **kwargs) -> ZmqMailbox:
            opened.append(ZmqMailbox(folder, *args, **kwargs))
            return opened[-1]

        yield open_box
        for mailbox in opened:
            mailbox.close(linger_s=0)


def push(sender: int, clock: int, value: float = 1.0) -> Message:
    return Message("push", sender, clock, payload=torch.tensor([value]))


def test_messages_go_both_ways_and_keep_their_order(box):
    server, workers = box(0), [box(rank, calls=[0]) for rank in (1, 2)]
    for clock in (1, 2, 3):
        for worker in workers:
            worker.send(0, push(worker.rank, clock, value=10 * worker.rank + clock))
    found = [server.receive() for _ in range(6)]
    for rank in (1, 2):
        assert [message.payload.tolist() for message in found if message.sender == rank] == [
            [10 * rank + clock] for clock in (1, 2, 3)
        ]
        server.send(rank, Message("stop", 0, version=rank))
    assert [worker.receive().version for worker in workers] == [1, 2]


def test_a_message_to_somebody_who_is_gone_is_dropped_and_holds_nobody_up(box):
    server, worker = box(0), box(1, calls=[0])
    worker.send(0, push(1, 1))
    server.receive()
    worker.close()
    for _ in range(5000):
        server.send(1, Message("parameters", 0, payload=torch.zeros(100)))
        server.send(99, Message("parameters", 0))
    other = box(2, calls=[0])
    other.send(0, push(2, 1))
    assert server.receive().sender == 2


def test_what_was_not_answered_is_sent_again_to_the_successor_in_the_same_order(box):
    first, worker = box(0), box(1, calls=[0], silence_s=0.01)
    worker.send(0, push(1, 1))
    assert first.receive().clock == 1
    first.send(1, Message("acknowledge", 0, clock=1))
    assert worker.receive().clock == 1
    worker.send(0, push(1, 2))
    worker.send(0, Message("pull", 1))
    kinds = [first.receive().kind]
    while kinds[-1] != "pull":  # on a slow machine the worker has sent the push again before
        kinds.append(first.receive().kind)
    assert set(kinds[:-1]) == {"push"}
    first.close()  # it dies with two messages that it has not answered

    successor = box(0)
    answers = [("acknowledge", 2), ("parameters", 0)]
    heard: list[str] = []

    def serve() -> None:
        for asked, (kind, clock) in zip(("push", "pull"), answers, strict=True):
            while not heard or heard[-1] != asked:
                heard.append(successor.receive().kind)
            successor.send(1, Message(kind, 0, clock))

    thread = threading.Thread(target=serve)
    thread.start()
    assert [(message.kind, message.clock) for message in (worker.receive(), worker.receive())] == answers
    thread.join(30)
    assert not thread.is_alive()
    assert heard[:2] == ["push", "pull"]
    assert worker.sent_again >= 2


def test_an_answer_that_comes_twice_is_taken_once(box):
    server, worker = box(0), box(1, calls=[0], silence_s=60.0)
    for clock in (1, 2):
        worker.send(0, push(1, clock))
        server.receive()
    for clock in (1, 1, 2):
        server.send(1, Message("acknowledge", 0, clock))
    assert [worker.receive().clock for _ in range(2)] == [1, 2]
    worker.send(0, Message("pull", 1))
    server.receive()
    for version in (7, 8):
        server.send(1, Message("parameters", 0, version=version))
    server.send(1, Message("stop", 0))
    assert worker.receive().version == 7
    assert worker.receive().kind == "stop"
    assert worker.sent_again == 0


def test_who_trusts_that_messages_arrive_repeats_none(box):
    server, worker = box(0), box(1, calls=[0])
    worker.send(0, Message("pull", 1))
    assert worker._wait_ms() is None
    assert server.receive().kind == "pull"


# The same server and the same worker under the simulator and over ZeroMQ.

UPDATES, SERVERS, WORKERS, LENGTH = 12, 2, 3, 10
POLICIES = {
    "synchronous": synchronous(WORKERS),
    "asynchronous": asynchronous(),
    "stale-synchronous": stale_synchronous(1),
}


def live_at(mailbox, rank, policy):
    """A server that counts its updates in its parameters, or a worker whose gradients are all ones."""
    plan = shard_plan([LENGTH], SERVERS)
    if rank < SERVERS:
        zeros, workers = torch.zeros(shard_length(plan[rank])), range(SERVERS, SERVERS + WORKERS)
        server = Server(rank, zeros, policy, workers, Sgd(-1.0), updates=UPDATES)
        run_actor(mailbox, server)
        return server.version, server.parameters.tolist()
    worker = Worker(rank, dict(enumerate(plan)), lambda parameters, clock: torch.ones_like(parameters))
    run_actor(mailbox, worker)
    return worker.clock


def test_a_worker_that_comes_late_is_waited_for():
    server = Server(0, None, synchronous(2), workers=[1, 2])
    server.handle(Message("pull", 1, version=-1))
    server.handle(Message("push", 1, clock=1))
    server.handle(Message("pull", 1, clock=1, version=0))
    [(dst, answer)] = server.handle(Message("pull", 2, version=-1))
    assert (dst, answer.kind, answer.version) == (2, "parameters", 0)
    assert server.version == 0


@pytest.mark.parametrize("name", POLICIES)
def test_server_and_worker_do_over_zeromq_what_they_do_under_the_simulator(name):
    def member_lives(member):
        calls = [] if member.rank < SERVERS else range(SERVERS)
        return live_at(ZmqMailbox(member.folder, member.rank, calls), member.rank, POLICIES[name])

    def rank_lives(comm):
        return live_at(CommMailbox(comm), comm.rank, POLICIES[name])

    processes = run_members(dict.fromkeys(range(SERVERS + WORKERS), member_lives))
    simulated = simulate(rank_lives, SERVERS + WORKERS).results
    for server in range(SERVERS):
        assert processes[server] == simulated[server] == (UPDATES, [UPDATES] * (LENGTH // SERVERS))
    if name == "synchronous":
        assert [processes[rank] for rank in range(SERVERS, SERVERS + WORKERS)] == simulated[SERVERS:]


# Processes.


def wait_for(cluster: MemberProcesses, count: int = 1) -> list:
    """The next messages of a cluster's members, in order of their coming."""
    found: list = []
    while len(found) < count:
        found += cluster.listen(30.0)
    return found[:count]


def test_a_fresh_process_has_what_the_chapter_preloads() -> None:
    def has_experiments(member):
        return "course_lib.parameter_server.experiments" in sys.modules

    assert run_members({0: has_experiments}) == {0: True}


def test_a_member_is_killed_and_another_takes_its_address():
    def speak(member, word):
        member.tell((word, os.getpid()))

    with MemberProcesses() as cluster:
        pids = []
        for word in ("first", "second"):
            cluster.start(5, speak, word)
            [(rank, (heard, pid))] = wait_for(cluster)
            assert (rank, heard) == (5, word)
            with pytest.raises(ValueError, match="member 5 lives"):
                cluster.start(5, speak, word)
            cluster.kill(5)
            assert not psutil.pid_exists(pid)
            assert cluster.ranks == []
            pids.append(pid)
        assert pids[0] != pids[1]
        cluster.start(6, speak, "third")
        assert [rank for rank, _ in wait_for(cluster)] == [6]  # a killed member's end is no news


def test_a_death_that_nobody_asked_for_is_news():
    def dies(member):
        os.kill(os.getpid(), signal.SIGKILL)

    with MemberProcesses() as cluster:
        cluster.start(3, dies)
        [(rank, error)] = wait_for(cluster)
        assert isinstance(error, RankDiedError)
        assert (rank, str(error)) == (3, "member 3 died without an answer (signal SIGKILL)")
        assert cluster.ranks == []


def test_an_error_comes_with_the_line_that_raised_it_and_none_of_ours():
    def gradient(parameters, clock):
        return parameters / torch.zeros(3)[clock + 5]

    def member_lives(member):
        if member.rank == 1:
            run_actor(ZmqMailbox(member.folder, 1, calls=[0]), Worker(1, {0: ((0, 1),)}, gradient))
        else:
            server = Server(0, torch.zeros(1), asynchronous(), [1])
            run_actor(ZmqMailbox(member.folder, 0), server)

    with pytest.raises(RankError, match="rank 1 raised IndexError") as caught:
        run_members({0: member_lives, 1: member_lives})
    assert "return parameters / torch.zeros(3)[clock + 5]" in str(caught.value)
    assert "zmq_mailbox.py" not in str(caught.value)


def test_what_members_print_appears_with_their_rank(capsys):
    def prints(member):
        print("one\ntwo")
        print("no end of line", end="")

    run_members({7: prints})
    assert capsys.readouterr().out.splitlines() == [f"[member 7] {line}" for line in ("one", "two", "no end of line")]


def test_who_does_not_end_in_time_is_named_with_its_line():
    def waits(member):
        time.sleep(1000)  # for ever

    def stops_in_its_answer(member):
        os.write(member._link.fileno(), b"\0\0\1\0the first bytes of 256")
        os.kill(os.getpid(), signal.SIGSTOP)

    members = {0: lambda member: None, 1: waits, 2: stops_in_its_answer}
    with pytest.raises(RankTimeoutError) as error:
        run_members(members, timeout_s=1.5)
    first, second, third = str(error.value).splitlines()
    assert first == "after 1.5 s members [1, 2] have not ended:"
    assert second.startswith("  member 1 runs ")
    assert second.endswith("time.sleep(1000)  # for ever")
    assert third == "  member 2 is stopped (as by SIGSTOP)"


def test_a_member_that_is_killed_is_named_even_if_a_copy_of_it_lives_on():
    def program(member):
        if os.fork() == 0:
            signal.pause()
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(RankDiedError, match=r"member 0 died without an answer .signal SIGKILL"):
        run_members({0: program})


class Leaves:
    def __reduce__(self):
        return sys.exit, (5,)


def test_what_cannot_be_unpacked_here_is_named():
    with pytest.raises(TransportError, match="what member 3 returned cannot be unpacked: SystemExit: 5"):
        run_members({3: lambda member: Leaves()})
    with pytest.raises(TransportError, match="what member 3 said cannot be unpacked: SystemExit: 5"):
        run_members({3: lambda member: member.tell(Leaves())})


def test_nobody_returns_nothing_and_time_is_a_number():
    assert run_members({}) == {}
    with pytest.raises(ValueError, match=r"timeout_s must be a number of seconds more than 0 .*, got None"):
        run_members({0: lambda member: None}, timeout_s=None)


def test_a_cluster_is_used_in_a_with_statement_one_at_a_time_and_as_often_as_one_likes():
    cluster = MemberProcesses()
    for use in (lambda: cluster.start(0, print), lambda: cluster.ranks, lambda: cluster.folder):
        with pytest.raises(RuntimeError, match="a cluster lives in a with statement"):
            use()
    folders = []
    for _ in range(2):
        with cluster:
            cluster.start(0, lambda member: member.tell(member.rank))
            assert wait_for(cluster) == [(0, 0)]
            folders.append(cluster.folder)
            with pytest.raises(RuntimeError, match="this cluster is in use"):
                cluster.__enter__()
            with pytest.raises(ValueError, match=r"no member 7 lives, only \[0\]"):
                cluster.kill(7)
    assert [Path(folder).exists() for folder in folders] == [False, False]


def test_an_interrupt_ends_all_members():
    pids = []

    def interrupted() -> None:
        with MemberProcesses() as cluster:
            cluster.start(0, lambda member: member.tell(os.getpid()) or signal.pause())
            pids.extend(pid for _, pid in wait_for(cluster))
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(pids) == 1
    assert not psutil.pid_exists(pids[0])


def test_an_interrupt_while_a_cluster_is_entered_leaves_no_folder(monkeypatch):
    def make(prefix: str) -> RunFolder:
        signal.raise_signal(signal.SIGINT)
        return RunFolder(prefix)

    cluster = MemberProcesses()
    with monkeypatch.context() as patch:
        patch.setattr(cluster_module, "RunFolder", make)
        with pytest.raises(KeyboardInterrupt):
            cluster.__enter__()
    with cluster:
        assert cluster.ranks == []


PARENT = """
import os, signal
from course_lib.parameter_server.fault_tolerance import MemberProcesses
with MemberProcesses() as cluster:  # no guard: members do not import this script again
    for rank in range(3):
        cluster.start(rank, lambda member: member.tell(os.getpid()) or signal.pause())
    pids = []
    while len(pids) < 3:
        pids += [pid for _, pid in cluster.listen(30.0)]
    print(cluster.folder, *pids, flush=True)
    signal.pause()
"""


@pytest.mark.slow
def test_members_and_their_folder_die_with_a_parent_that_is_killed(tmp_path):
    (tmp_path / "script.py").write_text(PARENT)
    parent = subprocess.Popen([sys.executable, tmp_path / "script.py"], stdout=subprocess.PIPE, text=True)
    try:
        folder, *pids = parent.stdout.readline().split()
        members = [psutil.Process(int(pid)) for pid in pids]
        assert Path(folder).is_dir()
    finally:
        parent.kill()
        parent.communicate()
    assert len(members) == 3
    assert psutil.wait_procs(members, timeout=30)[1] == []
    assert not Path(folder).exists()


@pytest.mark.parametrize("silence_s", [0, -1.0, float("nan")])
def test_a_silence_of_nothing_is_refused_for_everything_would_be_said_without_end(tmp_path, silence_s):
    with pytest.raises(ValueError, match="silence_s must be more than 0, or None"):
        ZmqMailbox(tmp_path, 0, silence_s=silence_s)


def test_a_folder_with_too_long_a_name_is_refused_in_words(tmp_path):
    for calls in ([], [1]):
        with pytest.raises(ValueError, match=r"sockets have names of \d+ bytes at most, got .*TMPDIR"):
            ZmqMailbox(tmp_path / ("x" * 120), 0, calls)
