"""Exactly once: under every order of deaths and lost messages in one process, and under kill -9 on real ones."""

import os
import random
import signal
import sys
from collections import Counter, deque
from pathlib import Path

import cloudpickle
import psutil
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from notebook_kernel import Notebook

from course_lib import Network, RankDiedError, RankError, RankTimeoutError, simulate
from course_lib.parameter_server import CommMailbox, Message, Sgd, run_actor
from course_lib.parameter_server.experiments import fault_trial
from course_lib.parameter_server.experiments.fault_records import (
    FaultReport,
    FaultTrialSetting,
    kill_plan,
    whole_numbers,
)
from course_lib.parameter_server.fault_tolerance import (
    Dispatcher,
    Durable,
    IdempotentServer,
    QueueWorker,
    WriteAheadLog,
    recover,
)
from course_lib.parameter_server.fault_tolerance.write_ahead_log import pack_record
from course_lib.parameter_server.shards import Piece
from course_lib.parameter_server.work_queue import portion_slice
from course_lib.tasks import Classifier, load_digits

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if these functions were written in a notebook

DISPATCHER, SERVERS = 0, (1, 2)
HELD = {1: (Piece(0, 2),), 2: (Piece(2, 3),)}
ADD = Sgd(-1.0)


def push(sender: int, portion: int, clock: int = 1) -> Message:
    return Message("push", sender, clock, number=portion, payload=whole_numbers(torch.zeros(2), portion))


def in_words(outbox: list) -> list:
    """Messages as (to whom, kind, portion)."""
    return [(dst, message.kind, message.number) for dst, message in outbox]


# The actors by hand.


def test_a_portion_that_two_workers_did_is_applied_once_and_acknowledged_to_both():
    server = IdempotentServer(1, torch.zeros(2), ADD)
    for sender in (3, 4, 3):
        [(dst, answer)] = server.handle(push(sender, portion=6))
        assert (dst, answer.kind, answer.clock) == (sender, "acknowledge", 1)
    assert server.parameters.tolist() == [7.0, 14.0]
    assert server.applied == {6: 1}
    assert server.repeated == 2


def test_a_worker_that_is_given_an_older_portion_after_a_newer_one_is_heard():
    server = IdempotentServer(1, torch.zeros(2), ADD)
    server.handle(push(3, portion=6, clock=1))
    server.handle(push(3, portion=2, clock=2))
    assert server.applied == {6: 1, 2: 1}


def test_a_server_without_memory_applies_what_it_is_told():
    server = IdempotentServer(1, torch.zeros(2), ADD, remembers=False)
    for _ in range(2):
        server.handle(push(3, portion=0))
    assert server.parameters.tolist() == [2.0, 4.0]
    assert server.applied == {0: 2}


def test_the_portion_of_a_dead_worker_goes_to_the_next_who_is_free():
    dispatcher = Dispatcher(DISPATCHER, portions=3, copies=1)
    assert [in_words(dispatcher.handle(Message("ready", worker))) for worker in (3, 4)] == [
        [(3, "portion", 0)],
        [(4, "portion", 1)],
    ]
    assert dispatcher.requeue_work_of(3) == []  # nobody is free
    assert in_words(dispatcher.handle(Message("done", 4, number=1))) == [(4, "portion", 0)]
    assert dispatcher.handed_over == [0]
    assert in_words(dispatcher.handle(Message("done", 4, number=0))) == [(4, "portion", 2)]
    assert in_words(dispatcher.handle(Message("done", 4, number=2))) == [(4, "stop", 0)]
    assert dispatcher.done == [1, 0, 2]


def test_the_last_message_of_a_dead_worker_counts_but_brings_it_no_work():
    dispatcher = Dispatcher(DISPATCHER, portions=2, copies=1)
    dispatcher.handle(Message("ready", 3))
    dispatcher.requeue_work_of(3)
    assert dispatcher.handle(Message("done", 3, number=0)) == []
    assert dispatcher.done == [0]
    assert in_words(dispatcher.handle(Message("ready", 4))) == [(4, "portion", 1)]


def test_a_worker_that_hangs_holds_up_no_other_at_the_end():
    dispatcher = Dispatcher(DISPATCHER, portions=2)
    dispatcher.handle(Message("ready", 3))
    dispatcher.handle(Message("ready", 4))
    assert in_words(dispatcher.handle(Message("done", 4, number=1))) == [(4, "portion", 0)]  # worker 3 has it still
    assert in_words(dispatcher.handle(Message("done", 4, number=0))) == [(4, "stop", 0)]
    assert in_words(dispatcher.handle(Message("done", 3, number=0))) == [(3, "stop", 0)]
    assert dispatcher.done == [1, 0]


def test_a_worker_is_done_when_the_last_server_has_acknowledged():
    worker = QueueWorker(3, DISPATCHER, HELD, whole_numbers)
    assert in_words(worker.begin()) == [(DISPATCHER, "ready", 0)]
    pulls = worker.handle(Message("portion", DISPATCHER, number=5))
    assert sorted(dst for dst, _ in pulls) == [1, 2]
    worker.handle(Message("parameters", 1, payload=torch.zeros(2)))
    pushes = worker.handle(Message("parameters", 2, payload=torch.zeros(1)))
    assert sorted(in_words(pushes)) == [(1, "push", 5), (2, "push", 5)]
    assert {dst: message.payload.tolist() for dst, message in pushes} == {1: [6.0, 12.0], 2: [18.0]}
    for server, clock in ((2, 1), (2, 1), (1, 0)):  # the second comes again, the third is of an older gradient
        assert worker.handle(Message("acknowledge", server, clock=clock)) == []
    assert in_words(worker.handle(Message("acknowledge", 1, clock=1))) == [(DISPATCHER, "done", 5)]
    assert worker.handle(Message("acknowledge", 1, clock=1)) == []


# The same actors under the simulator, where nobody dies.


class EndingServer(IdempotentServer):
    """A simulated rank must end: this one does with the last portion."""

    portions = 0

    @property
    def finished(self) -> bool:
        return len(self.applied) == self.portions


@pytest.mark.parametrize("workers", [1, 3])
def test_simulated_ranks_speak_the_same_protocol(workers):
    def program(comm):
        mailbox = CommMailbox(comm)
        if comm.rank == DISPATCHER:
            dispatcher = Dispatcher(DISPATCHER, portions=10, copies=1)
            for _ in range(10 + workers):  # each worker comes once more than it is done
                for dst, message in dispatcher.handle(mailbox.receive()):
                    mailbox.send(dst, message)
            mailbox.close()
            return sorted(dispatcher.done)
        if comm.rank in HELD:
            server = EndingServer(comm.rank, torch.zeros(2 if comm.rank == 1 else 1), ADD)
            server.portions = 10
            run_actor(mailbox, server)
            return server.parameters.tolist()
        run_actor(mailbox, QueueWorker(comm.rank, DISPATCHER, HELD, whole_numbers))

    report = simulate(program, 3 + workers, network=Network(latency_s=1e-3, jitter=0.5))
    assert report.results[:3] == [list(range(10)), [55.0, 110.0], [165.0]]


# Every order of deaths, losses and repetitions, in one process.


class World:
    """Actors and the messages between them; whatever may go wrong does so when it is told to."""

    def __init__(self, folder: Path, portions: int, seed: int) -> None:
        self.folder, self.draw = folder, random.Random(seed)
        self.dispatcher = Dispatcher(DISPATCHER, portions)
        self.way: dict[tuple[int, int], deque[Message]] = {}  # messages under way, by sender and receiver
        self.workers: dict[int, QueueWorker] = {}
        self.asked: dict[int, list[tuple[int, Message]]] = {}  # what each worker would repeat
        self.acknowledged: dict[int, set[int]] = {server: set() for server in HELD}
        self.servers = {server: self.recovered(server) for server in HELD}
        for worker in (3, 4, 5):
            self.hire(worker)

    def recovered(self, server: int) -> Durable:
        log = WriteAheadLog(self.folder / str(server))
        actor = recover(lambda: IdempotentServer(server, torch.zeros(3)[: 3 - server], ADD), log)
        return Durable(actor, log, keep_every=3)

    def send(self, sender: int, outbox: list) -> None:
        for dst, message in outbox:
            self.way.setdefault((sender, dst), deque()).append(message)

    def hire(self, rank: int) -> None:
        self.workers[rank] = QueueWorker(rank, DISPATCHER, HELD, whole_numbers)
        self.asked[rank] = []
        self.send(rank, self.workers[rank].begin())

    def deliver(self) -> None:
        """The next message between two who have some arrives."""
        pairs = [pair for pair, messages in sorted(self.way.items()) if messages]
        if not pairs:
            self.repeat()
            return
        pair = self.draw.choice(pairs)
        message, dst = self.way[pair].popleft(), pair[1]
        if dst == DISPATCHER:
            self.send(DISPATCHER, self.dispatcher.handle(message))
        elif dst in self.servers:
            self.send(dst, self.servers[dst].handle(message))
        elif dst in self.workers:
            self.arrive(dst, message)

    def arrive(self, worker: int, message: Message) -> None:
        """A worker takes a message, unless it answers nothing: the mailbox's part of the protocol."""
        question = {"parameters": "pull", "acknowledge": "push"}.get(message.kind)
        if question:
            found = [
                entry
                for entry in self.asked[worker]
                if entry[0] == message.sender
                and entry[1].kind == question
                and (question == "pull" or entry[1].clock == message.clock)
            ]
            if not found:
                return
            self.asked[worker].remove(found[0])
        if message.kind == "acknowledge":
            self.acknowledged[message.sender].add(self.workers[worker].portion)
        outbox = self.workers[worker].handle(message)
        self.asked[worker] += [entry for entry in outbox if entry[0] in HELD]
        self.send(worker, outbox)

    def repeat(self) -> None:
        """Somebody's patience ends."""
        worker = self.draw.choice(sorted(self.workers))
        self.send(worker, self.asked[worker])

    def lose(self) -> None:
        """A message between a worker and a server gets lost."""
        pairs = [pair for pair, messages in sorted(self.way.items()) if messages and set(pair) & set(HELD)]
        if pairs:
            self.way[self.draw.choice(pairs)].popleft()

    def kill_worker(self) -> None:
        worker = self.draw.choice(sorted(self.workers))
        del self.workers[worker]
        self.send(DISPATCHER, self.dispatcher.requeue_work_of(worker))
        self.hire(max([*self.asked, worker]) + 1)

    def kill_server(self) -> None:
        """It dies between messages, or having written one down without acting on it, or in the middle of writing."""
        server = self.draw.choice(SERVERS)
        log = self.servers[server].log
        coming = [messages[0] for (_, dst), messages in sorted(self.way.items()) if dst == server and messages]
        pushes = [message for message in coming if message.kind == "push"]
        if pushes:
            record = b"".join(self.draw.choice(pushes).to_bytes())
            written = self.draw.choice([b"", pack_record(record), pack_record(record)[: self.draw.randrange(100)]])
            log._log.write(written)
        log.close()
        for pair in self.way:
            if server in pair:
                self.way[pair].clear()
        self.servers[server] = self.recovered(server)


FATES = ("deliver", "repeat", "lose", "kill_worker", "kill_server")


@pytest.mark.filterwarnings("ignore:.*the last record is torn")
@given(st.lists(st.sampled_from(FATES), max_size=60), st.integers(0, 2**32), st.integers(1, 12))
@settings(max_examples=60)
def test_whatever_dies_or_gets_lost_each_portion_is_applied_exactly_once(tmp_path_factory, fates, seed, portions):
    world = World(tmp_path_factory.mktemp("world"), portions, seed)
    for fate in fates:
        for _ in range(3):
            world.deliver()
        getattr(world, fate)()
        for server, durable in world.servers.items():
            assert world.acknowledged[server] <= durable.actor.applied.keys()
    turns = 0
    while not world.dispatcher.queue.complete:
        world.deliver()
        turns += 1
        assert turns < 5000, "training hangs"
    for server, durable in world.servers.items():
        durable.log.close()
        assert durable.actor.applied == Counter(range(portions))
        total = portions * (portions + 1) / 2
        assert durable.actor.parameters.tolist() == ([total, 2 * total] if server == 1 else [3 * total])
    assert sorted(world.dispatcher.done) == list(range(portions))


# Real processes and kill -9.


def test_the_books_count_what_is_lost_what_is_there_twice_and_what_is_not_acknowledged_yet():
    applied = [Counter({0: 1, 1: 3}), Counter({0: 1, 1: 1, 2: 1, 3: 1})]  # server 0 lost portion 2; 3 is under way
    nobody = dict.fromkeys(("workers_killed", "servers_killed", "deaths", "handed_over", "repeated"), 0)
    zeros, lists = torch.zeros(1), {"audits": [], "events": []}
    report = FaultReport([0, 1, 2], applied, parameters=zeros, expected=zeros, seconds=1.0, **nobody, **lists)
    assert (report.acknowledged, report.present, report.lost, report.duplicated) == (6, 6, 1, 2)


def account(report, setting: FaultTrialSetting) -> None:
    """What must hold whoever was killed: nothing lost, nothing twice, and the sums show it too."""
    updates = setting.portions * setting.servers
    assert report.origin == "measured"
    assert (report.acknowledged, report.present) == (updates, updates)
    assert (report.lost, report.duplicated) == (0, 0)
    assert report.exact
    assert report.kills == setting.kills
    assert len(report.audits) == report.servers_killed
    assert [audit for audit in report.audits if audit.missing] == []
    under_way = setting.workers + report.workers_killed
    assert [audit for audit in report.audits if audit.extra > under_way] == []
    assert all(audit.present == audit.acknowledged + audit.extra for audit in report.audits)


@pytest.mark.parametrize("victims", ["workers", "servers", "both"])
def test_nothing_acknowledged_is_lost_and_nothing_applied_twice_when_processes_are_killed(victims):
    setting = FaultTrialSetting(portions=60, kills=4, victims=victims, seed=len(victims), keep_every=7)
    told: list[tuple[int, int]] = []
    report = fault_trial(
        portions=60, kills=4, victims=victims, seed=len(victims), keep_every=7, progress=lambda *n: told.append(n)
    )
    account(report, setting)
    assert told == [(done, 60) for done in range(1, 61)]
    assert report.workers_killed == {"workers": 4, "servers": 0}.get(victims, report.workers_killed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(3))
def test_nothing_acknowledged_is_lost_and_nothing_applied_twice_in_two_dozen_kills(seed):
    varied = {"servers": 1 + seed, "workers": 4 - seed, "keep_every": 10 + 25 * seed}
    report = fault_trial(portions=480, kills=24, seed=seed, **varied)
    account(report, FaultTrialSetting(portions=480, kills=24, seed=seed, **varied))
    assert report.workers_killed
    assert report.servers_killed


def test_the_events_tell_who_died_what_was_handed_over_and_who_came_back():
    report = fault_trial(portions=60, kills=3, victims="workers", workers=2, servers=1, portion_s=0.01)
    assert [event.at_s for event in report.events] == sorted(event.at_s for event in report.events)
    count = Counter(event.what for event in report.events)
    assert count["kill"] == 3
    assert count["done"] == 60
    assert count["portion"] >= 60
    assert count["hand over"] == report.handed_over
    assert {event.who for event in report.events} == {"server 0", "worker 0", "worker 1"}
    handed_over = {event.number for event in report.events if event.what == "hand over"}
    assert handed_over <= {event.number for event in report.events if event.what == "done"}
    for who in {event.who for event in report.events if event.what == "kill"}:  # whoever is killed comes back
        life = [event.what for event in report.events if event.who == who and event.what in ("back", "kill")]
        assert life == ["back", "kill"] * life.count("kill") + ["back"] * (life[-1] == "back")


def test_without_a_log_acknowledged_updates_are_lost():
    report = fault_trial(portions=30, kills=1, victims="servers", servers=1, logs=False, keep_every=1000, seed=1)
    assert report.lost >= kill_plan(FaultTrialSetting(portions=30, kills=1, victims="servers", seed=1))[0].after_done
    assert report.audits[0].missing > 0
    assert report.present < report.acknowledged


def test_a_worker_that_kills_itself_and_one_that_hangs_cost_nothing(tmp_path):
    dies, hangs = tmp_path / "dies", tmp_path / "hangs"

    def gradient(parameters, portion):
        for number, marker, signal_ in ((3, dies, signal.SIGKILL), (8, hangs, signal.SIGSTOP)):
            if portion == number and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal_)
        return whole_numbers(parameters, portion)

    report = fault_trial(gradient, portions=20, kills=0, workers=2)
    assert report.deaths == 1
    assert report.handed_over == 1
    assert sorted(report.done) == list(range(20))
    assert (report.lost, report.duplicated) == (0, 0)
    assert report.parameters.tolist() == [210.0 * (i + 1) for i in range(1000)]


def test_a_classifier_learns_while_its_machines_die():
    task, data = Classifier(), load_digits()

    def gradient(parameters, portion):
        part = portion_slice(portion % 20, 20, len(data.train_labels))
        return task.gradient(parameters, data.train_inputs[part], data.train_labels[part])

    first = task.initial()
    report = fault_trial(gradient, initial=first, optimizer=Sgd(0.5), portions=60, kills=2, portion_s=0.0)
    assert (report.acknowledged, report.present, report.lost, report.duplicated) == (120, 120, 0, 0)
    assert report.expected is None
    losses = [task.loss(parameters, data.train_inputs, data.train_labels) for parameters in (first, report.parameters)]
    assert losses[1] < losses[0] / 2


def test_an_error_in_a_gradient_is_shown_with_its_line():
    def gradient(parameters, portion):
        return parameters[portion:] + parameters[:3]

    with pytest.raises(RankError, match="RuntimeError: The size of tensor") as caught:
        fault_trial(gradient, portions=5, kills=0, servers=1)
    assert "return parameters[portion:] + parameters[:3]" in str(caught.value)


def test_workers_that_die_again_and_again_are_not_replaced_for_ever():
    with pytest.raises(RankDiedError, match="exit code 3"):
        fault_trial(lambda parameters, portion: os._exit(3), portions=5, kills=0)


def test_a_gradient_without_end_is_ended():
    with pytest.raises(RankTimeoutError, match="0 of 5 portions are done"):
        fault_trial(lambda parameters, portion: signal.pause(), portions=5, kills=0, timeout_s=1.0)


def test_the_same_seed_plans_the_same_kills():
    setting = FaultTrialSetting(kills=20, seed=3)
    same, other = (FaultTrialSetting(kills=20, seed=seed) for seed in (3, 4))
    assert kill_plan(setting) == kill_plan(same) != kill_plan(other)
    assert [kill.after_done for kill in kill_plan(setting)] == sorted({kill.after_done for kill in kill_plan(setting)})
    assert {kill.victim for kill in kill_plan(setting)} == {"worker", "server"}


@pytest.mark.parametrize("wrong", [{"victims": "all"}, {"workers": 0}, {"kills": 201}, {"servers": 0}])
def test_a_trial_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match=r"victims must be one of|a trial needs"):
        FaultTrialSetting(**wrong)


# In a notebook.

CELL = """
def gradient(parameters, portion):
    print("up")
    if portion == 9:
        return portion / 0
    return fault_records.whole_numbers(parameters, portion)
"""


@pytest.mark.slow
def test_in_a_notebook_cells_travel_errors_name_them_and_an_interrupt_ends_everything(tmp_path, monkeypatch):
    notebook = Notebook(tmp_path, monkeypatch)
    try:
        imports = "from course_lib.parameter_server.experiments import fault_records, fault_trial"
        notebook.run(f"import time\n{imports}" + CELL)
        shown = notebook.run("report = fault_trial(gradient, portions=9, kills=2); (report.lost, report.duplicated)")
        assert shown.endswith("(0, 0)")
        shown = notebook.run("fault_trial(gradient, portions=12, kills=0)")
        assert "raised ZeroDivisionError: division by zero\n  cell [2], line 6: return portion / 0" in shown
        assert "course_lib" not in shown

        hanging = notebook.start("fault_trial(lambda *_: print('hangs') or time.sleep(60), kills=0)")
        notebook.finish(hanging, until="hangs")
        assert list(tmp_path.rglob("course-ps-*"))
        notebook.manager.interrupt_kernel()
        assert "KeyboardInterrupt" in notebook.finish(hanging)
        assert list(tmp_path.rglob("course-ps-*")) == []
        assert [p for p in notebook.family() if p.ppid() != notebook.manager.provisioner.pid] == []

        hanging = notebook.start("fault_trial(lambda *_: print('hangs') or time.sleep(60), kills=0)")
        notebook.finish(hanging, until="hangs")
        family = notebook.family()
        psutil.Process(notebook.manager.provisioner.pid).kill()
        assert psutil.wait_procs(family, timeout=20)[1] == []
        assert list(tmp_path.rglob("course-ps-*")) == []
    finally:
        notebook.close()
