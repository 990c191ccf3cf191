"""Messages, mailboxes, the server and the worker as machines, and both together under simulator and processes."""

import pickle
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_post import RandomPost

from course_lib import Network, run, simulate
from course_lib.parameter_server import (
    KINDS,
    CommMailbox,
    Message,
    Server,
    Sgd,
    SimpleServer,
    Worker,
    asynchronous,
    run_actor,
    shard_length,
    shard_plan,
    softsync,
    stale_synchronous,
    synchronous,
    take,
)
from course_lib.parameter_server.actor import HEADER_BYTES

POLICIES = {
    "synchronous": synchronous(3),
    "backup": synchronous(2, backup=1),
    "asynchronous": asynchronous(),
    "softsync": softsync(3, 1),
    "stale synchronous": stale_synchronous(1),
}


def push(sender: int, clock: int, version: int, value: float = 1.0) -> Message:
    return Message("push", sender, clock, version, payload=torch.tensor([value]))


def pull(sender: int, clock: int = 0, version: int = -1) -> Message:
    return Message("pull", sender, clock, version)


def in_words(outbox: list) -> list:
    """Messages as (to whom, kind, version)."""
    return [(dst, message.kind, message.version) for dst, message in outbox]


def test_a_synchronous_server_answers_when_the_last_gradient_is_in() -> None:
    # worker 1: pull v0   push                         <- v1
    # worker 2: pull v0          push  pull            <- v1
    server = Server(0, torch.zeros(1), synchronous(2), workers=[1, 2], optimizer=Sgd(1.0))
    assert in_words(server.handle(pull(1))) == [(1, "parameters", 0)]
    assert in_words(server.handle(pull(2))) == [(2, "parameters", 0)]
    assert server.handle(push(1, 1, version=0, value=4.0)) == []
    assert server.handle(pull(1, clock=1, version=0)) == []
    assert in_words(server.handle(push(2, 1, version=0, value=2.0))) == [(1, "parameters", 1)]
    assert in_words(server.handle(pull(2, clock=1, version=0))) == [(2, "parameters", 1)]
    assert server.parameters.tolist() == [-3.0]  # down the mean of 4 and 2


def test_a_message_survives_the_wire_of_bytes_and_the_header() -> None:
    for payload in (None, torch.empty(0), torch.arange(3.0), torch.arange(5), torch.ones(2, dtype=torch.float64)):
        message = Message("portion", 7, clock=2**40, version=-1, count=3, number=9, payload=payload)
        again = Message.from_bytes(message.to_bytes())
        assert again.header().tolist() == message.header().tolist()
        assert len(message.to_bytes()[0]) == HEADER_BYTES
        assert (again.payload is None) == (payload is None)
        assert payload is None or torch.equal(again.payload, payload)


def test_every_kind_has_a_meaning_and_can_travel() -> None:
    for kind, meaning in KINDS.items():
        assert " → " in meaning
        assert Message.from_header(Message(kind, 0).header()).kind == kind


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        (Message("gossip", 0), "kind must be one of pull"),
        (Message("push", 0, payload=torch.ones(2, 2)), "one row"),
        (Message("push", 0, payload=torch.ones(2, dtype=torch.float16)), "float16"),
    ],
)
def test_a_message_that_nobody_could_read_is_refused(message: Message, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        message.header()


def test_a_server_refuses_messages_that_are_not_for_it() -> None:
    server = Server(0, None, asynchronous(), workers=[1])
    with pytest.raises(ValueError, match="kind 'portion'"):
        server.handle(Message("portion", 1))


@pytest.mark.parametrize("numbers", [1, 3])
def test_a_gradient_of_another_length_is_refused(numbers: int) -> None:
    server = Server(4, torch.zeros(2), asynchronous(), workers=[7])
    with pytest.raises(ValueError, match=f"server 4 holds 2 parameters, worker 7 pushed {numbers} numbers"):
        server.handle(Message("push", 7, clock=1, payload=torch.ones(numbers)))
    assert server.parameters.tolist() == [0.0, 0.0]


def test_a_push_that_comes_twice_counts_once_and_is_acknowledged_twice() -> None:
    server = Server(0, torch.zeros(1), asynchronous(), workers=[1], optimizer=Sgd(1.0), acknowledges=True)
    answers = [server.handle(push(1, clock, version=0)) for clock in (1, 1, 2, 1, 2)]
    assert [outbox[0][1].clock for outbox in answers] == [1, 1, 2, 1, 2]
    assert {outbox[0][1].kind for outbox in answers} == {"acknowledge"}
    assert server.version == 2
    assert server.parameters.tolist() == [-2.0]


def test_what_comes_after_the_end_is_neither_used_nor_acknowledged() -> None:
    server = Server(0, torch.zeros(1), asynchronous(), [1, 2], Sgd(1.0), updates=1, acknowledges=True)
    assert [message.kind for _, message in server.handle(push(1, 1, version=0))] == ["acknowledge"]
    assert server.handle(push(2, 1, version=0)) == []
    assert server.version == 1


def test_a_worker_that_left_is_not_heard_any_more() -> None:
    server = Server(0, torch.zeros(1), asynchronous(), [1, 2], Sgd(1.0))
    for message in (Message("goodbye", 1), push(1, 1, version=0), Message("goodbye", 1)):
        assert server.handle(message) == []
    assert server.version == 0
    assert not server.finished


def test_an_answer_keeps_its_numbers_while_the_server_goes_on() -> None:
    server = Server(0, torch.zeros(1), asynchronous(), workers=[1], optimizer=Sgd(1.0))
    [(_, answer)] = server.handle(pull(1))
    server.handle(push(1, 1, version=0))
    assert answer.payload.tolist() == [0.0]
    assert server.parameters.tolist() == [-1.0]


def test_a_pull_that_waits_is_answered_when_the_worker_says_goodbye() -> None:
    server = Server(0, None, synchronous(2), workers=[1, 2])
    for worker in (1, 2):
        server.handle(pull(worker))
    server.handle(Message("push", 1, clock=1))
    assert server.handle(pull(1, clock=1, version=0)) == []
    assert in_words(server.handle(Message("goodbye", 1))) == [(1, "stop", 0)]
    assert not server.finished


def test_those_who_stay_do_not_wait_for_those_who_left() -> None:
    server = Server(0, None, synchronous(3), workers=[1, 2, 3])
    for worker in (1, 2):
        server.handle(Message("push", worker, clock=1))
        assert server.handle(pull(worker, clock=1, version=0)) == []
    assert in_words(server.handle(Message("goodbye", 3))) == [(1, "parameters", 1), (2, "parameters", 1)]


def test_what_is_left_when_time_is_up_makes_no_update_of_fewer_gradients() -> None:
    server = Server(0, None, synchronous(2), workers=[1, 2], seconds=5.0)
    server.handle(Message("push", 1, clock=1), 4.0)
    assert in_words(server.handle(pull(1, clock=1, version=0), 5.0)) == [(1, "stop", 0)]
    for worker in (1, 2):
        server.handle(Message("goodbye", worker), 6.0)
    assert (server.finished, server.version) == (True, 0)


def test_the_slowest_worker_holds_nobody_back_once_it_has_left() -> None:
    server = Server(0, None, stale_synchronous(0), workers=[1, 2])
    server.handle(Message("push", 1, clock=1))
    assert server.handle(pull(1, clock=1)) == []
    assert in_words(server.handle(Message("goodbye", 2))) == [(1, "parameters", 1)]


def test_a_worker_computes_when_all_shards_are_there_and_names_the_version_of_each() -> None:
    worker = Worker(8, dict(enumerate(shard_plan([4], 2))), lambda parameters, clock: parameters * 10)
    assert in_words(worker.begin()) == [(0, "pull", -1), (1, "pull", -1)]
    assert worker.handle(Message("parameters", 1, version=5, payload=torch.tensor([3.0, 4.0]))) == []
    outbox = worker.handle(Message("parameters", 0, version=4, payload=torch.tensor([1.0, 2.0])))
    assert in_words(outbox) == [(0, "push", 4), (1, "push", 5), (0, "pull", 4), (1, "pull", 5)]
    assert [message.payload.tolist() for _, message in outbox[:2]] == [[10.0, 20.0], [30.0, 40.0]]
    assert worker.seen == [(4, 5)]


def program(comm, policy, servers, workers, updates):
    """Every gradient is all ones and the rate is -1, so parameters count updates."""
    mailbox, plan = CommMailbox(comm), shard_plan([10], servers)
    if comm.rank < servers:
        zeros = torch.zeros(shard_length(plan[comm.rank]))
        server = Server(comm.rank, zeros, policy, range(servers, servers + workers), Sgd(-1.0), updates=updates)
        run_actor(mailbox, server)
        return server
    numbers = random.Random(comm.rank)

    def gradient(parameters, clock):
        mailbox.compute(numbers.uniform(0.0, 0.002))
        return torch.ones_like(parameters)

    worker = Worker(comm.rank, dict(enumerate(plan)), gradient)
    run_actor(mailbox, worker)
    return worker.clock


@pytest.mark.parametrize("servers", [1, 2, 3])
@pytest.mark.parametrize("name", POLICIES)
def test_training_ends_with_all_updates_made_on_every_shard(name: str, servers: int) -> None:
    network = Network(latency_s=1e-3, jitter=0.5)
    report = simulate(program, servers + 3, (POLICIES[name], servers, 3, 7), network=network, ranks="greenlets")
    for server in report.results[:servers]:
        assert server.version == 7
        assert set(server.parameters.tolist()) == {7.0}
        assert len(server.log) == 7


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", POLICIES)
def test_the_simple_server_does_what_the_hardened_one_does(name: str, seed: int) -> None:
    [everything] = shard_plan([5], 1)

    def trained(server) -> tuple:
        drawn = {worker: random.Random(worker) for worker in (1, 2, 3)}
        post = RandomPost(
            {0: server}
            | {
                worker: Worker(worker, {0: everything}, lambda row, clock, own=own: row + own.randrange(9))
                for worker, own in drawn.items()
            },
            seed,
        )
        while post.deliver():
            pass
        return server.version, server.parameters.tolist(), server.finished

    row = torch.arange(5.0)
    simple = trained(SimpleServer(row, POLICIES[name], (1, 2, 3), rate=0.5, updates=7))
    assert simple == trained(Server(0, row, POLICIES[name], (1, 2, 3), Sgd(0.5), updates=7))
    assert simple[::2] == (7, True)


@pytest.mark.parametrize("name", ["synchronous", "asynchronous", "stale synchronous"])
def test_real_processes_speak_the_same_protocol(name: str) -> None:
    def version(comm, *args):
        result = program(comm, *args)
        return (result.version, result.parameters.tolist()) if comm.rank == 0 else result

    report = run(version, 4, (POLICIES[name], 1, 3, 6))
    assert report.results[0] == (6, [6.0] * 10)
    assert sum(report.results[1:]) >= 6


def test_a_server_can_be_kept_in_a_file_and_goes_on_from_there() -> None:
    server = Server(0, torch.zeros(1), softsync(2, 1), workers=[1, 2], optimizer=Sgd(1.0))
    server.handle(push(1, 1, version=0, value=4.0))
    again = pickle.loads(pickle.dumps(server))
    again.handle(push(2, 1, version=0, value=2.0))
    assert again.version == 1
    assert again.parameters.tolist() == [-3.0]


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(1, 5), st.sampled_from(["even", "tensor", "size"])
)
@settings(max_examples=50)
def test_messages_cut_by_a_plan_put_the_row_together_again(lengths: list[int], servers: int, by: str) -> None:
    plan = shard_plan(lengths, servers, by)
    row = torch.arange(float(sum(lengths)))
    worker = Worker(9, dict(enumerate(plan)), lambda parameters, clock: parameters)
    worker.begin()
    outbox: list = []
    for server, shard in enumerate(plan):
        outbox = worker.handle(Message("parameters", server, payload=take(row, shard).clone()))
    assert torch.equal(worker.parameters, row)
    assert all(torch.equal(message.payload, take(row, plan[dst])) for dst, message in outbox if message.kind == "push")
