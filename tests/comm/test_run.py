"""run(): real processes, every failure named, nothing left behind, and the next run works."""

import contextlib
import functools
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import cloudpickle
import numpy as np
import psutil
import pytest
import torch
import torch.distributed as dist

from course_lib import (
    DeadlockError,
    MismatchError,
    Network,
    RankDiedError,
    RankError,
    RankTimeoutError,
    TransportError,
    UnmatchedError,
    run,
    simulate,
)
from course_lib.comm.processes import children, fork_server

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if these programs were written in a notebook


@pytest.fixture(autouse=True)
def nothing_stays(monkeypatch):
    """After every test of this file: no rank lives, no folder lies about, and the next run works."""
    folders, make = [], tempfile.mkdtemp

    def noted(*args, **kwargs):
        folder = make(*args, **kwargs)
        folders.extend([folder] * ("course-run-" in folder))
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", noted)
    others = set(psutil.Process().children(recursive=True))  # a grader of other tests lives as long as they
    yield
    assert run(lambda comm: comm.barrier() or comm.rank, 2).results == [0, 1]
    server_and_ranks = set(psutil.Process().children(recursive=True)) - others
    assert [p for p in server_and_ranks if p.ppid() != os.getpid()] == []  # the fork server itself may stay
    assert folders
    assert [folder for folder in folders if Path(folder).exists()] == []


def one(value: float = 0.0) -> torch.Tensor:
    return torch.tensor([float(value)])


# Programs and results travel.


def test_lambdas_closures_and_captured_tensors_travel():
    captured, table = torch.arange(3), {"b": 2}

    def inner(x):
        return x + captured

    def program(comm, a, *, c):
        return inner(comm.rank * 10).tolist(), a, table["b"], c

    report = run(program, 2, (1,), {"c": 3})
    assert report.results == [([0, 1, 2], 1, 2, 3), ([10, 11, 12], 1, 2, 3)]
    assert (report.origin, report.backend) == ("measured", "gloo, cpu")


def test_a_rank_that_changes_argument_or_closure_changes_nobody_elses():
    captured, given = torch.zeros(2), torch.zeros(2)

    def program(comm, tensor):
        tensor += comm.rank + 1
        captured.add_(comm.rank + 1)
        return tensor.tolist(), captured.tolist()

    assert run(program, 2, (given,)).results == [([1.0, 1.0],) * 2, ([2.0, 2.0],) * 2]
    assert (given.tolist(), captured.tolist()) == ([0.0] * 2, [0.0] * 2)


DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.int64,
    torch.bool,
    torch.complex64,
]


def test_every_dtype_and_shape_arrives():
    shapes = [(), (0,), (3,), (2, 0, 4), (2, 3, 4), (100_000,)]

    def program(comm):
        ok = []
        for dtype in DTYPES:
            for shape in shapes:
                tensor = (torch.arange(100_000)[: torch.Size(shape).numel()] % 100).reshape(shape).to(dtype)
                got = torch.zeros_like(tensor)
                comm.send(tensor, 1) if comm.rank == 0 else comm.recv(got, 0)
                ok.append(comm.rank == 0 or torch.equal(got, tensor))
        return all(ok), len(ok)

    assert run(program, 2).results == [(True, len(DTYPES) * len(shapes))] * 2


def test_messages_arrive_in_order_whatever_is_waited_for_first():
    def program(comm):
        if comm.rank == 0:
            works = [comm.isend(one(n), 1) for n in range(40)]
        else:
            tensors = [one(-1) for _ in range(40)]
            works = [comm.irecv(tensor, 0) for tensor in tensors]
        for work in reversed(works):
            assert work.wait()
            work.wait()
        return comm.rank and [int(tensor) for tensor in tensors]

    report = run(program, 2)
    assert report.results[1] == list(range(40))
    assert (report.trace.steps, report.trace.messages_sent) == (1, [40, 0])


def test_recv_from_anyone_says_who_sent_and_what():
    def program(comm):
        if comm.rank:
            comm.compute(0.02 * (4 - comm.rank))
            return comm.send(one(comm.rank), 0)
        tensor = one()
        return [comm.recv(tensor) == int(tensor) for _ in range(3)]

    report = run(program, 4)
    assert report.results[0] == [True] * 3
    assert report.trace.messages_received == [3, 0, 0, 0]


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_nothing_is_received_from_anyone_as_in_the_simulator(shape):
    def program(comm):
        nothing = torch.zeros(shape)
        if comm.rank:
            return comm.send(nothing, 0)
        return sorted(comm.recv(nothing) for _ in range(2)), list(nothing.shape)

    assert run(program, 3).results[0] == simulate(program, 3).results[0] == ([1, 2], list(shape))


def test_a_world_of_one_runs():
    report = run(lambda comm: comm.barrier() or (comm.rank, comm.world_size, comm.network), 1)
    assert report.results == [(0, 1, None)]
    assert report.trace.messages == []


def test_ranks_draw_numbers_of_their_own_and_the_same_in_every_run():
    first, second = (run(lambda comm: torch.rand(2).tolist(), 2).results for _ in range(2))
    assert first == second
    assert first[0] != first[1]


def test_torch_distributeds_own_functions_work_inside():
    def program(comm):
        tensor = one(comm.rank + 1)
        dist.all_reduce(tensor)
        pieces = [one() for _ in range(comm.world_size)]
        dist.all_gather(pieces, one(comm.rank))
        dist.barrier()
        return float(tensor), [int(piece) for piece in pieces]

    assert run(program, 3).results == [(6.0, [0, 1, 2])] * 3


def test_autograd_and_data_parallel_training_work_inside():
    def program(comm):
        weight = torch.ones(2, requires_grad=True)

        def add_up(gradient):  # a hook that communicates in the middle of the backward pass
            other = torch.empty_like(gradient)
            sending = comm.isend(gradient, 1 - comm.rank)
            comm.recv(other, 1 - comm.rank)
            sending.wait()
            return gradient + other

        weight.register_hook(add_up)
        (weight * (comm.rank + 1)).sum().backward()
        torch.manual_seed(0)
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
        model(torch.full((1, 2), float(comm.rank))).sum().backward()
        return weight.grad.tolist(), model.module.weight.grad.tolist()

    assert run(program, 2).results == [([3.0, 3.0], [[0.5, 0.5]])] * 2


def test_prints_are_marked_with_their_rank_and_arrive_while_the_program_runs(capfd, tmp_path):
    early, seen, go_on = {"[rank 0] early", "[rank 1] early", "[rank 1] from below python"}, [], tmp_path / "go on"

    def program(comm):
        print("early")
        if comm.rank == 1:
            os.write(2, b"from below python\n")
            print("no newline", end="")
            while not go_on.exists():
                time.sleep(0.01)
        comm.recv(one(), 1) if comm.rank == 0 else comm.send(one(), 0)
        print("late")

    def watch():
        end_s = time.monotonic() + 60
        while not early <= set("".join(seen).splitlines()) and time.monotonic() < end_s:
            seen.append("".join(capfd.readouterr()))
            time.sleep(0.01)
        go_on.touch()

    watcher = threading.Thread(target=watch)
    watcher.start()
    run(program, 2)
    watcher.join()
    assert early <= set("".join(seen).splitlines())
    assert "late" not in "".join(seen)
    assert {"[rank 0] late", "[rank 1] no newlinelate"} <= set("".join(capfd.readouterr()).splitlines())


def test_prints_are_kept_quiet_on_demand(capfd):
    run(lambda comm: print("loud"), 2, echo=False)
    assert "loud" not in "".join(capfd.readouterr())


# Scripts of every kind.

SCRIPT = """
import torch
from course_lib import run

class Box:
    def __init__(self, value):
        self.value = value

offset = torch.tensor([5.0])

def helper(comm):
    return Box(float(offset) + comm.rank)

print("main runs")
print("results", [box.value for box in run(helper, world_size=2).results])
"""


WAYS = {"a script": "script.py", "-c": "-c", "standard input": "-"}


@pytest.mark.slow
def test_a_program_of_main_runs_without_a_guard_and_main_runs_once(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    started = {}
    for way, argument in WAYS.items():
        command = [sys.executable, argument] + [SCRIPT] * (way == "-c")
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        started[way] = subprocess.Popen(command, **pipes, text=True, cwd=tmp_path)
    said = {
        way: process.communicate(SCRIPT * (way == "standard input"), timeout=90) for way, process in started.items()
    }
    assert said == dict.fromkeys(WAYS, ("main runs\nresults [5.0, 6.0]\n", ""))


# Failures are named. Each test's end checks that nothing is left and the next run works.


def test_an_exception_comes_with_its_line_its_rank_and_its_traceback():
    def program(comm):
        if comm.rank == 1:
            raise KeyError("the key")  # here
        comm.recv(one(), 1)

    with pytest.raises(RankError) as error:
        run(program, 3)
    assert (error.value.rank, error.value.cause_type, error.value.cause_text) == (1, "KeyError", "'the key'")
    first, second, *rest = str(error.value).splitlines()
    assert first == "rank 1 raised KeyError: 'the key'"
    assert second.endswith('raise KeyError("the key")  # here')
    assert "The traceback of rank 1:" in rest
    assert "child.py" not in str(error.value)


@pytest.mark.timeout(30)
def test_an_error_that_sounds_like_a_lost_peer_is_told_soon_when_no_other_cause_comes():
    def program(comm):
        if comm.rank == 1:
            raise OSError("Broken pipe of my own")
        time.sleep(100)

    with pytest.raises(RankError, match="rank 1 raised OSError: Broken pipe of my own"):
        run(program, 2)


@pytest.mark.parametrize("causing", [0, 1, 2])
def test_the_rank_that_raises_is_named_and_not_those_that_lost_it(causing):
    def program(comm):
        comm.barrier()
        if comm.rank == causing:
            raise ValueError("the cause")
        comm.recv(one(), causing)

    with pytest.raises(RankError, match=f"rank {causing} raised ValueError: the cause"):
        run(program, 3)


def test_a_deadlock_is_named_long_before_the_time_is_up():
    def program(comm):
        comm.recv(one(), (comm.rank + 1) % comm.world_size)  # everybody waits

    with pytest.raises(DeadlockError) as error:
        run(program, 3)  # timeout_s=60 would outlast this test's own limit
    text = str(error.value)
    for rank in range(3):
        assert f"rank {rank} waits in recv from {(rank + 1) % 3}" in text
    assert "comm.recv(one(), (comm.rank + 1) % comm.world_size)  # everybody waits" in text
    assert "the circle: 0 -> 1 -> 2 -> 0" in text


@pytest.mark.parametrize("length", [0, 1, 10_000_000])
def test_two_sends_to_each_other_wait_forever_as_in_the_simulator(length):
    def program(comm):
        comm.send(torch.zeros(length), 1 - comm.rank)
        comm.recv(torch.zeros(length), 1 - comm.rank)

    for execute in (simulate, run):
        with pytest.raises(DeadlockError, match="rank 0 waits in send to 1"):
            execute(program, 2)


def test_an_isend_is_not_over_before_its_receive_is_posted():
    def program(comm):
        if comm.rank == 0:
            comm.isend(one(), 1).wait()
            return comm.now()
        comm.compute(0.3)
        posted_s = comm.now()
        comm.recv(one(), 0)
        return posted_s

    sent_s, posted_s = run(program, 2).results
    assert sent_s >= posted_s


DEADLOCKS = {
    "waiting for a finished rank": (
        lambda comm: comm.rank or comm.recv(one(), 1),
        r"(?s)recv from 1.*finished already",
    ),
    "waiting for anyone": (lambda comm: comm.rank or comm.recv(one()), "rank 0 waits in recv from anyone"),
    "waiting for an isend": (
        lambda comm: comm.rank or comm.isend(one(), 1).wait(),
        "rank 0 waits in wait for isend to 1",
    ),
    "a third rank": (lambda comm: comm.rank == 2 or comm.recv(one(), 2), "rank 1 waits in recv from 2"),
}


@pytest.mark.parametrize("name", DEADLOCKS)
def test_other_deadlocks_are_named_too(name):
    program, words = DEADLOCKS[name]
    with pytest.raises(DeadlockError, match=words):
        run(program, 3 if "third" in name else 2)


def test_a_slow_rank_is_not_taken_for_a_deadlock():
    def program(comm):
        if comm.rank == 0:
            comm.compute(0.9)
            return comm.send(one(), 1)
        return comm.recv(one(), 0)

    assert run(program, 2).results == [None, 0]


def test_a_hang_says_what_every_rank_does():
    def program(comm):
        if comm.rank == 0:
            comm.recv(one(), 1)  # the waiting line
        elif comm.rank == 1:
            while True:
                time.sleep(0.01)  # the looping line

    with pytest.raises(RankTimeoutError) as error:
        run(program, 3, timeout_s=1.0)
    text = str(error.value)
    assert "after 1 s" in text
    assert "rank 0 waits in recv from 1" in text
    assert "# the waiting line" in text
    assert "rank 1 runs" in text
    assert "# the looping line" in text
    assert "rank 2 has finished" in text


class TakesASecond:
    """An argument that every rank needs more than a second to read."""

    def __reduce__(self):
        return time.sleep, (1.2,)


def test_what_ranks_take_to_start_is_not_the_programs_time():
    assert run(lambda comm, _: comm.rank, 2, args=[TakesASecond()], timeout_s=1.0).results == [0, 1]


def test_a_hang_inside_torch_distributed_is_placed_in_the_programs_line():
    def program(comm):
        if comm.rank == 0:
            dist.recv(one(), 1)  # dist hangs here
        time.sleep(60)

    with pytest.raises(RankTimeoutError, match=r"rank 0 runs .*# dist hangs here"):
        run(program, 2, timeout_s=1.0)


ENDINGS = {
    "SIGKILL": (lambda: os.kill(os.getpid(), signal.SIGKILL), "rank 1 died without an answer .signal SIGKILL"),
    "exit": (lambda: os._exit(3), "rank 1 died without an answer .exit code 3"),
    "crash": (lambda: os.abort(), "rank 1 died without an answer .signal SIGABRT"),
}


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize("others", ["wait for it", "wait for anyone", "compute"])
def test_a_rank_that_dies_is_named_with_how_it_ended(name, others):
    end, words = ENDINGS[name]

    def program(comm):
        if comm.rank == 1:
            end()
        elif others == "compute":
            comm.compute(30.0)
        else:
            comm.recv(one(), 1 if others == "wait for it" else None)

    with pytest.raises(RankDiedError, match=words):
        run(program, 3)


def test_an_exception_whose_text_cannot_be_made_is_named_with_its_line():
    class Mute(Exception):
        def __str__(self):
            raise ZeroDivisionError

    def program(comm):
        raise Mute  # the silent line

    for execute in (run, lambda *args: simulate(*args, ranks="threads")):
        with pytest.raises(
            RankError, match=r"(?s)raised Mute: .its text cannot be had: __str__ raised Zero.*# the silent line"
        ):
            execute(program, 2)


def test_a_hook_of_the_library_in_a_backward_pass_has_the_programs_line():
    from course_lib.collectives import ring_all_reduce

    def program(comm):
        weight = torch.ones(4, requires_grad=True)
        weight.register_hook(functools.partial(ring_all_reduce, comm))
        if comm.rank == 0:
            (weight * 2).sum().backward()  # the backward line

    for execute in (run, simulate):
        with pytest.raises(DeadlockError, match=r"rank 0 waits in .*# the backward line"):
            execute(program, 2)


def test_sys_exit_is_an_exception_of_that_rank():
    with pytest.raises(RankError, match="rank 0 raised SystemExit: 4"):
        run(lambda comm: comm.rank or sys.exit(4), 2)


def test_a_program_or_result_that_cannot_be_pickled_is_named():
    lock = threading.Lock()
    with pytest.raises(TransportError, match=r"(?s)cannot travel to the ranks.*lock"):
        run(lambda comm: lock, 2)
    with pytest.raises(TransportError, match=r"(?s)what rank [01] returned cannot travel back.*lock"):
        run(lambda comm: threading.Lock(), 2)


def test_a_result_that_cannot_be_unpacked_here_is_named():
    class Bomb:
        def __reduce__(self):
            return int, ("not a number",)

    with pytest.raises(TransportError, match=r"(?s)what rank 0 returned cannot be unpacked.*ValueError"):
        run(lambda comm: Bomb(), 2)


def test_a_result_that_exits_while_it_is_unpacked_is_named():
    class Leaves:
        def __reduce__(self):
            return sys.exit, (3,)

    with pytest.raises(TransportError, match="what rank 0 returned cannot be unpacked: SystemExit: 3"):
        run(lambda comm: Leaves(), 2)


def test_time_may_be_unlimited_and_the_number_of_ranks_numpys():
    assert run(lambda comm: comm.rank, np.int64(2), timeout_s=math.inf).results == [0, 1]


def test_more_ranks_than_the_machine_holds_are_refused_before_any_starts():
    with pytest.raises(TransportError, match=r"holds at most \d+ ranks, not 100000: .*simulate"):
        run(lambda comm: None, 100_000)


MISMATCHES = {
    "fewer bytes": (torch.zeros(3), torch.zeros(4)),
    "more bytes": (torch.zeros(5_000), torch.zeros(4)),
    "another dtype of the same size": (torch.zeros(4), torch.zeros(4, dtype=torch.int32)),
    "another shape of the same size": (torch.zeros(2, 2), torch.zeros(4)),
    "empty": (torch.zeros(0), torch.zeros(1)),
}


@pytest.mark.parametrize("name", MISMATCHES)
@pytest.mark.parametrize("posts_first", ["sender", "receiver"])
def test_sides_that_disagree_are_named_with_both_lines(name, posts_first):
    sent, expected = MISMATCHES[name]

    def program(comm):
        if (comm.rank == 0) != (posts_first == "sender"):
            time.sleep(0.1)
        if comm.rank == 0:
            comm.send(sent, 1)  # the sending line
        else:
            comm.recv(expected, 0)  # the receiving line

    with pytest.raises(MismatchError) as error:
        run(program, 2)
    text = str(error.value)
    assert f"rank 0 sends {sent.dtype} of shape {tuple(sent.shape)} to 1" in text
    assert f"rank 1 receives {expected.dtype} of shape {tuple(expected.shape)} from 0" in text
    assert "# the sending line" in text
    assert "# the receiving line" in text


def test_a_mismatch_with_a_receive_from_anyone_is_named():
    def program(comm):
        comm.send(torch.zeros(2), 1) if comm.rank == 0 else comm.recv(torch.zeros(3))

    with pytest.raises(MismatchError, match=r"rank 0 sends torch.float32 of shape \(2,\) to 1"):
        run(program, 2)


SUBTLE = {
    "nobody waits": lambda comm: str(
        comm.isend(torch.zeros(2), 1) if comm.rank == 0 else comm.irecv(torch.zeros(2, dtype=torch.int32), 0)
    ),
    "receives from somebody and from anyone are open together": lambda comm: (
        [comm.send(torch.zeros(2), 1), comm.send(torch.zeros(2), 1)]
        if comm.rank == 0
        else [work.wait() for work in [comm.irecv(torch.zeros(2), 0), comm.irecv(torch.zeros(1, 2))]]
    ),
    "long shapes": lambda comm: (
        comm.send(torch.zeros([1] * 30 + [2]), 1) if comm.rank == 0 else comm.recv(torch.zeros([1] * 31 + [2]), 0)
    ),
}


@pytest.mark.parametrize("execute", [run, simulate])
@pytest.mark.parametrize("name", SUBTLE)
def test_sides_that_disagree_are_refused_by_every_executor_alike(name, execute):
    with pytest.raises(MismatchError, match=r"rank 0 sends torch\.float32 of shape"):
        execute(SUBTLE[name], 2)


def test_a_message_of_torch_distributeds_own_functions_does_not_meet_the_communicators():
    def program(comm):
        comm.recv(one(), 0) if comm.rank else dist.send(one(), 1)

    with pytest.raises(UnmatchedError, match="it met a message of torch"):
        run(program, 2)


def test_messages_left_over_are_named_with_their_lines():
    def program(comm):
        if comm.rank == 0:
            comm.isend(one(), 1)  # nobody receives this
            comm.irecv(one(), 1)  # nobody sends this

    with pytest.raises(UnmatchedError) as error:
        run(program, 2)
    assert "# nobody receives this" in str(error.value)
    assert "# nobody sends this" in str(error.value)


def test_messages_that_nobody_waits_for_are_no_error_and_counted():
    def program(comm):
        for _ in range(3):
            comm.isend(one(), 1) if comm.rank == 0 else comm.irecv(one(), 0)

    assert run(program, 2).trace.messages_sent == [3, 0]


def test_misuse_is_refused_as_in_the_simulator():
    for say, words in [
        (lambda comm: comm.send(one(), comm.rank), "dst is rank 1 itself"),
        (lambda comm: comm.send(one(), 2), "dst must be a rank from 0 to 1, rank 1 got 2"),
        (lambda comm: comm.send(1.0, 0), "a message must be a torch.Tensor, got float"),
        (lambda comm: comm.send(torch.ones(2, 2).T, 0), "a message must be contiguous"),
        (lambda comm: comm.send(torch.eye(2).to_sparse(), 0), r"a message must be dense, got torch.sparse_coo"),
        (lambda comm: comm.compute(-1.0), "seconds must be a number of 0 or more"),
    ]:
        for execute in (run, simulate):
            with pytest.raises(RankError, match=words):
                execute(lambda comm, say=say: comm.rank and say(comm), 2)


@pytest.mark.parametrize("network", [None, Network(latency_s=1e-3)])
@pytest.mark.parametrize("args", [(), (torch.empty(1, device="meta"),)])
def test_a_meta_tensor_has_no_numbers_to_send(network, args):
    def program(comm, tensor=None):
        message = tensor if args else torch.empty(1, device="meta")
        comm.recv(message, 0) if comm.rank else comm.send(message, 1)

    with pytest.raises(RankError, match=r"a meta tensor has no numbers to send.*\n.*comm.recv"):
        run(program, 2, args, network=network)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"world_size": 0}, "at least 1, got 0"),
        ({"timeout_s": 0}, "timeout_s must be a number of seconds more than 0 .math.inf: no limit., got 0"),
        ({"timeout_s": None}, "more than 0 .*, got None"),
        ({"timeout_s": math.nan}, "more than 0 .*, got nan"),
        ({"timeout_s": "60"}, "more than 0 .*, got '60'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        run(lambda comm: None, **arguments)


@pytest.mark.parametrize("inner", [run, simulate])
def test_an_error_of_a_run_inside_a_rank_names_both_ranks_and_lines(inner):
    def program(comm):
        inner(lambda inside: inside.rank and 1 / 0, 2)  # in rank 0

    with pytest.raises(RankError) as error:
        run(program, 1)
    assert (error.value.rank, error.value.cause_type) == (0, "RankError")
    first, *places = str(error.value).split("\n\n")[0].splitlines()
    assert first == "rank 0 raised RankError: rank 1 raised ZeroDivisionError: division by zero"
    assert [place.endswith("# in rank 0") for place in places] == [True, True]


def test_an_error_of_ours_that_the_program_raises_itself_has_its_rank_and_line():
    def program(comm):
        if comm.rank:
            raise MismatchError("of my own")  # here
        comm.recv(one(), 1)

    with pytest.raises(RankError, match=r"rank 1 raised MismatchError: of my own\n .*# here"):
        run(program, 2)


def test_a_program_that_does_not_get_its_arguments_is_told_how_to_give_them():
    from course_lib.collectives import ring_all_reduce

    for execute in (run, simulate):
        with pytest.raises(RankError, match=r"missing 1 .*'tensor'\n  It gets comm by itself.* args=\(tensor,\)\."):
            execute(ring_all_reduce, 2)
        with pytest.raises(RankError, match=r"It is called with comm, and then with what args"):
            execute(lambda comm: None, 2, (one(),))
        with pytest.raises(RankError, match=r"# the calling line"):
            execute(ring_all_reduce, 2)  # the calling line


def test_a_type_error_of_the_programs_own_gets_no_advice_about_arguments():
    with pytest.raises(RankError) as error:
        run(lambda comm: math.sqrt("nine"), 1)
    assert "args=" not in str(error.value)


@pytest.mark.parametrize("ending", ["well", "in a hang", "with the rank's death"])
def test_what_a_rank_has_started_ends_with_it(ending, tmp_path):
    def program(comm):
        started = subprocess.Popen(["sleep", "1000"])
        (tmp_path / str(comm.rank)).write_text(str(started.pid))
        if ending == "in a hang":
            comm.compute(100.0)
        if ending != "well":
            comm.barrier()
            os._exit(1)

    try:
        run(program, 2, timeout_s=1.0)
    except (RankTimeoutError, RankDiedError):
        assert ending != "well"
    started = [int((tmp_path / str(rank)).read_text()) for rank in range(2)]
    for _ in range(100):
        alive = [pid for pid in started if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"]
        if not alive:
            return
        time.sleep(0.05)
    raise AssertionError(f"{alive} live on")


def test_an_interrupt_ends_a_run_that_hangs():
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(lambda comm: time.sleep(100), 2)


@pytest.mark.slow
def test_ranks_are_gone_when_the_process_that_started_them_is_killed(tmp_path):
    program = "[subprocess.Popen(['sleep', '1000']), print('up', flush=True), time.sleep(100)]"
    script = f"import subprocess, time\nfrom course_lib import run\nrun(lambda comm: {program}, 2)"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout.readline().strip().endswith("up")
        family = psutil.Process(process.pid).children(recursive=True)
        assert len(family) >= 4  # fork server, two ranks and what they have started
        process.kill()
    assert psutil.wait_procs(family, timeout=20)[1] == []
    assert not list(Path(tmp_path).glob("course-run-*"))


# A deadlock is called one where it is, and only there.


def test_a_large_message_to_a_receive_from_anyone_is_no_deadlock_while_it_is_under_way():
    def program(comm):
        large, small = torch.zeros(50_000_000), torch.zeros(1)
        if comm.rank == 0:
            work = comm.irecv(small, 1)
            comm.recv(large)
            comm.send(small, 1)
            comm.send(small, 2)
            work.wait()
        elif comm.rank == 1:
            comm.recv(small, 0)
            comm.send(small, 0)
        else:
            work = comm.isend(large, 0)
            comm.recv(small, 0)
            work.wait()
        return comm.rank

    assert run(program, 3).results == [0, 1, 2]


def test_a_circle_of_large_sends_after_receives_from_anyone_is_named_at_once():
    def program(comm):
        small, large = torch.ones(1), torch.ones(4_000_000)
        if comm.rank == 0:
            for _ in range(comm.world_size - 1):
                comm.recv(small)
        else:
            comm.send(small, 0)
        comm.barrier()  # else a receive from anyone might get a large one
        comm.send(large, (comm.rank + 1) % comm.world_size)  # nobody is there yet
        comm.recv(large, (comm.rank - 1) % comm.world_size)

    with pytest.raises(DeadlockError, match="the circle: 0 -> 1 -> 2 -> 0"):
        run(program, 3, timeout_s=30)


def test_what_a_thread_of_the_programs_own_may_still_send_is_waited_for():
    def program(comm):
        small = torch.ones(1)
        if comm.rank == 0:
            comm.recv(small, 1)
            return comm.send(small, 1)
        thread = threading.Timer(1.0, comm.send, (torch.ones(1), 0))
        thread.start()
        comm.recv(small, 0)
        return thread.join()

    assert run(program, 2).results == [None, None]


# Whatever a rank does, run comes back.

BOTH = [pytest.param(None, id="measured"), pytest.param(Network(), id="emulated", marks=pytest.mark.exhaustive)]


def stop_in_the_answer() -> None:
    """Be a rank that begins its answer and is then stopped, as by Ctrl-Z or a debugger."""
    [frame] = [frame for frame in frames_of_this_thread() if frame.f_code.co_name == "live"]
    os.write(frame.f_locals["pipe"]._link.fileno(), b"\0\0\1\0the first bytes of 256")
    os.kill(os.getpid(), signal.SIGSTOP)


def frames_of_this_thread():
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


@pytest.mark.parametrize("network", BOTH)
def test_a_rank_that_stops_inside_its_answer_is_named_at_the_time_out(network):
    with pytest.raises(RankTimeoutError, match=r"(?s)rank 0 has finished\n  rank 1 is stopped .as by SIGSTOP"):
        run(lambda comm: comm.rank and stop_in_the_answer(), 2, network=network, timeout_s=1.0)


def test_an_interrupt_ends_a_run_of_which_a_rank_has_stopped_inside_its_answer(capfd):
    def program(comm):
        if comm.rank:
            print("about to stop")
            stop_in_the_answer()

    watcher = threading.Thread(target=interrupt_when, args=("about to stop", capfd))
    watcher.start()
    with pytest.raises(KeyboardInterrupt) as interrupt:
        run(program, 2)
    watcher.join()
    files = [entry.path.name for entry in interrupt.traceback]
    assert files == ["test_run.py", "runner.py"]  # none of what it was in


def interrupt_when(said: str, capfd) -> None:
    """Interrupt this process once somebody has said so."""
    heard = ""
    while said not in heard:
        heard += capfd.readouterr().out
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("network", BOTH)
def test_a_rank_that_is_killed_is_named_even_if_a_copy_of_it_lives_on(network):
    def program(comm):
        if comm.rank == 1:
            if os.fork() == 0:
                time.sleep(1000)
            os.kill(os.getpid(), signal.SIGKILL)
        comm.recv(one(), 1)

    with pytest.raises(RankDiedError, match=r"rank 1 died without an answer .signal SIGKILL"):
        run(program, 2, network=network)


@pytest.mark.parametrize("network", BOTH)
def test_a_rank_that_dies_after_its_answer_is_blamed_by_those_who_wait_for_its_message(network, tmp_path):
    def program(comm):
        if comm.rank == 1:
            comm.isend(torch.ones(5_000_000), 0)
            (tmp_path / "new").write_text(str(os.getpid()))
            (tmp_path / "new").rename(tmp_path / "pid")
            threading.Thread(target=die_after_the_answer).start()
        else:
            while not (tmp_path / "pid").exists() or psutil.pid_exists(int((tmp_path / "pid").read_text())):
                time.sleep(0.01)
            comm.recv(torch.ones(5_000_000), 1)

    with pytest.raises(RankDiedError, match=r"rank 1 died after its program had ended .signal SIGKILL"):
        run(program, 2, network=network)


def die_after_the_answer() -> None:
    def in_wait() -> bool:
        frame = sys._current_frames()[threading.main_thread().ident]
        while frame.f_code.co_filename == threading.__file__:
            frame = frame.f_back
        return frame.f_code.co_name == "live"  # which waits to be ended

    while not in_wait():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_fork_server_that_was_stopped_goes_on():
    def program(comm):
        os.kill(os.getppid(), signal.SIGSTOP)  # and once more while all are ended
        return comm.rank

    run(lambda comm: None, 1)
    os.kill(fork_server._server()._forkserver_pid, signal.SIGSTOP)
    assert run(program, 2, timeout_s=30).results == [0, 1]


def test_a_fork_server_that_is_stopped_while_it_is_asked_goes_on(monkeypatch):
    def start_and_stop():
        ensure()
        os.kill(fork_server._server()._forkserver_pid, signal.SIGSTOP)

    ensure = fork_server._ensure_fork_server
    monkeypatch.setattr(fork_server, "_ensure_fork_server", start_and_stop)
    assert run(lambda comm: comm.rank, 2).results == [0, 1]


@pytest.mark.parametrize("network", BOTH)
def test_a_hang_in_a_started_function_is_placed_in_its_own_line(network):
    def program(comm):
        comm.start(lambda comm: time.sleep(1000)).wait()  # both lines

    with pytest.raises(RankTimeoutError) as error:
        run(program, 1, network=network, timeout_s=0.7)
    assert "rank 0 waits for a function it started, " in str(error.value)
    assert "rank 0, in a function it started, runs " in str(error.value)
    assert str(error.value).count("# both lines") == 2


def _program_of_its_own():
    return subprocess.Popen(["sleep", "1000"], start_new_session=True, stdout=subprocess.DEVNULL).pid


def _fork_of_its_own():
    if pid := os.fork():
        return pid
    os.setsid()
    time.sleep(1000)
    os._exit(0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not tell who left a process group")
@pytest.mark.parametrize("start", [_program_of_its_own, _fork_of_its_own])
@pytest.mark.parametrize("ending", ["well", "in a hang", "killed", "by itself"])
def test_what_a_rank_has_started_in_a_session_of_its_own_ends_with_it(ending, start, tmp_path):
    def program(comm):
        (tmp_path / str(comm.rank)).write_text(str(start()))
        if ending == "in a hang":
            comm.recv(one())
        if ending == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if ending == "by itself":
            os._exit(0)

    with contextlib.suppress(DeadlockError, RankDiedError):
        run(program, 2)
    written = [path.read_text() for path in tmp_path.iterdir()]  # one may have been ended before it wrote
    started = [psutil.Process(int(pid)) for pid in written if pid and psutil.pid_exists(int(pid))]
    assert psutil.wait_procs(started, timeout=20)[1] == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not tell who left a process group")
def test_a_rank_that_ends_by_itself_while_all_are_ended_leaves_nothing_behind(monkeypatch, tmp_path):
    def program(comm):
        (tmp_path / str(comm.rank)).write_text(str(_fork_of_its_own()))
        while comm.rank and not (tmp_path / "over").exists():
            time.sleep(0.01)
        os._exit(0)

    def once_dead(process):
        (tmp_path / "over").touch()
        process.join()
        kill_with_children(process)

    kill_with_children = children.kill_with_children
    with monkeypatch.context() as patched:
        patched.setattr(children, "kill_with_children", once_dead)
        with pytest.raises(RankDiedError):
            run(program, 2)
    pids = [int((tmp_path / rank).read_text()) for rank in "01"]
    assert psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=60)[1] == []
