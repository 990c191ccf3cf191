"""Fault injection: training on real processes that are killed at random moments, and every update accounted for."""

from __future__ import annotations

import random
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from course_lib.comm.errors import CommError, RankTimeoutError
from course_lib.parameter_server.actor import Message, Outbox, run_actor
from course_lib.parameter_server.experiments.fault_records import (
    DISPATCHER,
    Audit,
    Event,
    FaultReport,
    FaultTrialSetting,
    Kill,
    kill_plan,
    whole_numbers,
)
from course_lib.parameter_server.experiments.training import settings_of
from course_lib.parameter_server.fault_tolerance.cluster import Member, MemberEnded, MemberProcesses
from course_lib.parameter_server.fault_tolerance.exactly_once import (
    Dispatcher,
    Durable,
    IdempotentServer,
    QueueWorker,
    recover,
)
from course_lib.parameter_server.fault_tolerance.write_ahead_log import WriteAheadLog
from course_lib.parameter_server.fault_tolerance.zmq_mailbox import ZmqMailbox
from course_lib.parameter_server.shards import put, take

_PATIENCE_S = 0.25
_MAX_DEATHS = 10  # that nobody planned


@settings_of(FaultTrialSetting)
def fault_trial(setting: FaultTrialSetting) -> FaultReport:
    """Train asynchronously on real processes, kill some of them with `kill -9`, and count lost and duplicated updates.

    A dead worker's portion goes to another, and a new worker takes its place. A dead server comes back from the state
    that it kept last and the messages since. In the end all are killed, and their logs are read from the disk.

    On one machine the operating system tells of a death at once. A worker that hangs, or is out of reach on another
    machine, is not seen to be dead: its portion is handed out once more at the end, and the first result counts.

    Arguments are those of `FaultTrialSetting`.

    Raises:
        RankError: if `gradient` raises, with its traceback.
        RankDiedError: if processes die again and again without our doing.
        RankTimeoutError: if not all is done after `timeout_s`.
    """
    return _Trial(setting).run()


def _be_server(member: Member, setting: FaultTrialSetting) -> None:
    """A server's process: recover from the log, and serve until killed."""
    torch.set_num_threads(1)
    with warnings.catch_warnings(action="ignore"):  # a torn record is told to the dispatcher instead
        log = WriteAheadLog(_log_of(member.folder, member.rank), fsync=setting.fsync)
    if log.torn_bytes:
        member.tell(("torn record", log.torn_bytes))
    server = _recovered(setting, member.rank, log)
    mailbox = ZmqMailbox(member.folder, member.rank)
    member.tell(("back", server.version))
    run_actor(mailbox, Durable(server, log, keep_every=setting.keep_every, logs=setting.logs))


def _be_worker(member: Member, setting: FaultTrialSetting) -> None:
    """A worker's process: do portions until there are no more."""
    torch.set_num_threads(1)
    calls = [DISPATCHER, *setting.held]
    mailbox = ZmqMailbox(member.folder, member.rank, calls, silence_s=setting.silence_s)

    def gradient_in_time(parameters: torch.Tensor | None, portion: int) -> torch.Tensor | None:
        mailbox.compute(setting.portion_s)
        return setting.gradient(parameters, portion)

    member.tell(("back", -1))
    run_actor(mailbox, QueueWorker(member.rank, DISPATCHER, dict(setting.held), gradient_in_time))


def _log_of(folder: str, server: int) -> Path:
    return Path(folder) / f"log-{server}"


def _recovered(setting: FaultTrialSetting, server: int, log: WriteAheadLog) -> IdempotentServer:
    def fresh() -> IdempotentServer:
        shard = take(setting.initial, setting.held[server]).clone()
        return IdempotentServer(server, shard, setting.optimizer, remembers=setting.remembers)

    return recover(fresh, log)


class _Trial:
    """The dispatcher's process: it starts, kills and replaces the others, and records the events."""

    def __init__(self, setting: FaultTrialSetting) -> None:
        self.setting, self.progress = replace(setting, progress=None), setting.progress  # progress stays here
        self.dispatcher = Dispatcher(DISPATCHER, setting.portions)
        self.plan = kill_plan(setting)
        self.draw = random.Random(f"{setting.seed} victims")
        self.names = {rank: f"server {number}" for number, rank in enumerate(setting.held)}
        self.killed = {"worker": 0, "server": 0}
        self.deaths = 0
        self.audits: list[Audit] = []
        self.events: list[Event] = []

    def run(self) -> FaultReport:
        """Start all, go on until every portion is done, then kill all and read their logs."""
        self.start_s = time.perf_counter()
        with MemberProcesses() as self.cluster:
            self.mailbox = ZmqMailbox(self.cluster.folder, DISPATCHER)
            try:
                for server in self.setting.held:
                    self.cluster.start(server, _be_server, self.setting)
                for number in range(self.setting.workers):
                    self._hire(f"worker {number}")
                while not self.dispatcher.queue.complete:
                    self._take_turn()
            finally:
                self.mailbox.close(linger_s=0)
            seconds = self._now()
            for rank in self.cluster.ranks:
                self.cluster.kill(rank)
            return self._report(seconds)

    def _now(self) -> float:
        return time.perf_counter() - self.start_s

    def _note(self, who: str, what: str, number: int = -1) -> None:
        self.events.append(Event(self._now(), who, what, number))

    def _hire(self, name: str) -> None:
        """Start a worker; a new one has an address of its own, so that nobody takes it for the dead one."""
        rank = max(self.names) + 1
        self.names[rank] = name
        self.cluster.start(rank, _be_worker, self.setting)

    def _take_turn(self) -> None:
        """Handle what processes have sent, then kill one if it is time."""
        if self._now() > self.setting.timeout_s:
            done = f"{len(self.dispatcher.done)} of {self.setting.portions}"
            raise RankTimeoutError(f"after {self.setting.timeout_s:g} s {done} portions are done")
        for rank, message in self.cluster.listen(_PATIENCE_S, self.mailbox.socket):
            self._hear(rank, message)
        while not self.dispatcher.queue.complete and (message := self.mailbox.receive_now()) is not None:
            self._open(message)
            while self.plan and len(self.dispatcher.done) > self.plan[0].after_done:
                self._execute(self.plan.pop(0))

    def _hear(self, rank: int, message: Any) -> None:
        """Handle what a process reports outside of the protocol: it has started, ended, or died."""
        name = self.names[rank]
        if isinstance(message, MemberEnded):
            message.result()
        elif isinstance(message, CommError):
            self.deaths += 1
            self._note(name, "death")
            if self.deaths > _MAX_DEATHS:
                raise message
            self._replace(rank)
        else:
            self._note(name, *message)

    def _open(self, message: Message) -> None:
        """Let the dispatcher handle a message, and send its answers."""
        before = len(self.dispatcher.done)
        outbox = self.dispatcher.handle(message, self._now())
        if len(self.dispatcher.done) > before:
            self._note(self.names[message.sender], "done", message.number)
            if self.progress is not None:
                self.progress(len(self.dispatcher.done), self.setting.portions)
        self._send(outbox)

    def _send(self, outbox: Outbox) -> None:
        for dst, message in outbox:
            if message.kind == "portion":
                self._note(self.names[dst], "portion", message.number)
            self.mailbox.send(dst, message)

    def _execute(self, kill: Kill) -> None:
        """Kill a random live process of the planned kind, and replace it."""
        time.sleep(kill.delay_s)
        victims = [rank for rank in self.cluster.ranks if self.names[rank].startswith(kill.victim)]
        rank = self.draw.choice(victims)
        self.cluster.kill(rank)
        self.killed[kill.victim] += 1
        self._note(self.names[rank], "kill")
        self._replace(rank)

    def _replace(self, rank: int) -> None:
        """Start a dead process again: a server at its old address, in place of a worker a new one."""
        if rank in self.setting.held:
            self._audit(rank)
            self.cluster.start(rank, _be_server, self.setting)
            return
        portion = self.dispatcher.holding.get(rank, -1)
        outbox = self.dispatcher.requeue_work_of(rank)
        if portion in self.dispatcher.handed_over:
            self._note(self.names[rank], "hand over", portion)
        self._hire(self.names[rank])
        self._send(outbox)

    def _books(self, server: int) -> IdempotentServer:
        """A dead server as it is recovered from its log."""
        return _recovered(self.setting, server, WriteAheadLog(_log_of(self.cluster.folder, server), read_only=True))

    def _audit(self, server: int) -> None:
        """Compare what a dead server has on the disk with what was acknowledged."""
        done, present = set(self.dispatcher.done), set(self._books(server).applied)
        counts = len(done), len(present), len(done - present), len(present - done)
        self.audits.append(Audit(self._now(), server - 1, *counts))

    def _report(self, seconds: float) -> FaultReport:
        setting, books = self.setting, {server: self._books(server) for server in self.setting.held}
        parameters, expected = setting.initial.clone(), setting.initial.clone()
        for server, shard in setting.held.items():
            put(parameters, shard, books[server].parameters)
            for portion, times in books[server].applied.items():
                change = take(whole_numbers(setting.initial, portion), shard) * times
                put(expected, shard, take(expected, shard) + change)
        return FaultReport(
            done=self.dispatcher.done,
            applied=[server.applied for server in books.values()],
            parameters=parameters,
            expected=expected if setting.gradient is whole_numbers else None,
            workers_killed=self.killed["worker"],
            servers_killed=self.killed["server"],
            deaths=self.deaths,
            handed_over=len(self.dispatcher.handed_over),
            repeated=sum(server.repeated for server in books.values()),
            audits=self.audits,
            events=self.events,
            seconds=seconds,
        )
