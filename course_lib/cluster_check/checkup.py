"""The check itself, phase by phase: each phase has a time-out and names the ranks that are missing or stuck."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psutil
import torch
import torch.distributed as dist

from course_lib.cluster_check.facts import Facts, collect_facts, facts_from
from course_lib.cluster_check.findings import ABSENT, ADDRESS, FEWER, ONE_DIED, PROBLEM, CheckError, ClusterFinding
from course_lib.cluster_check.judge import (
    judge_clocks,
    judge_facts,
    judge_pairs,
    judge_products,
    judge_reach,
    judge_sums,
)
from course_lib.cluster_check.measure import (
    ProbeAnswer,
    ProbeServer,
    RankPair,
    measure_all_reduce,
    measure_pairs,
    measure_product,
    probe,
)
from course_lib.cluster_check.meeting import BY_HAND, Meeting, MissingRanks, RankPlace
from course_lib.comm.devices import device_of, use, wait_for
from course_lib.comm.errors import is_echo
from course_lib.comm.processes.machine import choose_backend
from course_lib.comm.transport.batched import backends_for
from course_lib.comm.transport.deadlock import machine
from course_lib.draw import format_count
from course_lib.published import Timing

MEETING, OPENING = "the meeting", "opening a port of its own"
REACH, BARRIER = "reaching each other by TCP", "the first barrier"
PAIRS, SUMS = "pairs", "all-reduce"
PRODUCT = "a matrix product"


@dataclass
class Checkup:
    """The result of a check, as far as it went; the same on every rank.

    Attributes:
        facts: what each rank said of itself, by rank; ranks that did not come are not in it.
        answers: what rank a got when it probed rank b, by (a, b).
        products: floating-point operations a second, by rank.
        speaker: the rank that says it all.
        absent: ranks that did not come, or did not go on.
    """

    place: RankPlace
    facts: dict[int, Facts] = field(default_factory=dict)
    answers: dict[tuple[int, int], ProbeAnswer] = field(default_factory=dict)
    pairs: list[RankPair] = field(default_factory=list)
    sums: list[Timing] = field(default_factory=list)
    products: list[float] = field(default_factory=list)
    findings: list[ClusterFinding] = field(default_factory=list)
    speaker: int = 0
    absent: list[int] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether nothing is there that would keep a training from starting."""
        return all(finding.level != PROBLEM for finding in self.findings)

    @property
    def verdict(self) -> str:
        """In one sentence, how many things were found and how grave they are."""
        if not self.findings:
            return "Nothing was found that is not as it should be."
        grave = sum(finding.level == PROBLEM for finding in self.findings)
        return f"Found: {len(self.findings)}, of them {grave} that keep a training from starting"


def check_up(meeting: Meeting, device: str = "auto") -> Checkup:
    """Run all phases of the check, or as many as can be run; all ranks call it."""
    found = Checkup(meeting.place)
    try:
        _phases(meeting, device, found)
    except CheckError as error:
        found.findings += error.findings
    except MissingRanks as error:
        found.findings += _missing_findings(error, found)
        found.speaker, found.absent = min(error.parts), error.ranks
    except dist.DistError as error:
        words = (
            f"where all met, {meeting.place.address}, nobody answers any more: who listened there has gone ({error})"
        )
        found.findings.append(ClusterFinding(PROBLEM, words, ONE_DIED))
        found.speaker = meeting.rank
    return found


def _phases(meeting: Meeting, device: str, found: Checkup) -> None:
    backend, where = _choose(meeting.place, device)
    said = meeting.gather(MEETING, collect_facts(meeting.rank, meeting.place, where, backend))
    found.facts = {rank: facts_from(row) for rank, row in enumerate(said)}
    facts = list(found.facts.values())
    _stop_at_problems(found, judge_facts(facts))
    found.answers = _probe_all(meeting, facts)
    _stop_at_problems(found, judge_reach(found.answers, facts))
    found.findings += judge_clocks(found.answers, facts)
    _attempt(meeting, BARRIER, lambda: _join(meeting, facts[meeting.rank], backend, where), facts)
    if meeting.world_size > 1:
        _measure_links(meeting, found, facts, where)
    found.products = _attempt(meeting, PRODUCT, lambda: measure_product(where), facts)
    found.findings += judge_products(found.products, facts)


def _measure_links(meeting: Meeting, found: Checkup, facts: list[Facts], where: torch.device) -> None:
    rows = _attempt(meeting, PAIRS, lambda: measure_pairs(meeting.rank, meeting.world_size, where), facts)
    found.pairs = [RankPair(one, other, [tuple(each) for each in times]) for row in rows for one, other, times in row]
    found.findings += judge_pairs(found.pairs, facts)
    found.sums = [Timing(*one) for one in _attempt(meeting, SUMS, lambda: measure_all_reduce(where), facts)[0]]
    found.findings += judge_sums(found.sums, found.pairs, facts)


def _choose(place: RankPlace, device: str) -> tuple[str, torch.device]:
    backend, on_gpu, _ = choose_backend(device, place.local_world_size, emulated=False)
    where = device_of(place.local_rank, on_gpu)
    use(where)
    return backend, where


def _stop_at_problems(found: Checkup, findings: list[ClusterFinding]) -> None:
    problems = [one for one in findings if one.level == PROBLEM]
    found.findings += [one for one in findings if one.level != PROBLEM]
    if problems:
        raise CheckError(problems)


def _probe_all(meeting: Meeting, facts: list[Facts]) -> dict[tuple[int, int], ProbeAnswer]:
    """Every rank opens a port at its address and probes those of all others by TCP."""
    name, mine = uuid.uuid4().bytes, facts[meeting.rank]

    def open_port() -> list[Any]:
        return [ProbeServer(mine.address.address, name).port, name.hex()]

    servers = _attempt(meeting, OPENING, open_port, facts)
    rows = [
        ProbeAnswer() if one.rank == meeting.rank else probe(one.address.address, port, bytes.fromhex(its))
        for one, (port, its) in zip(facts, servers, strict=True)
    ]
    said = meeting.gather(REACH, rows)
    return {(a, b): ProbeAnswer(*row) for a, each in enumerate(said) for b, row in enumerate(each) if a != b}


def _join(meeting: Meeting, mine: Facts, backend: str, where: torch.device) -> None:
    """Make the process group at the addresses that were tried, and wait for all once."""
    if mine.address.interface:
        os.environ["GLOO_SOCKET_IFNAME"] = mine.address.interface
    timeout = timedelta(seconds=meeting.timeout_s)
    store = dist.PrefixStore("group", meeting.store)
    rank, world_size = meeting.rank, meeting.world_size
    dist.init_process_group(
        backends_for(backend, where), store=store, rank=rank, world_size=world_size, timeout=timeout
    )
    dist.all_reduce(torch.ones(1, device=where))
    wait_for(where)


def _attempt(meeting: Meeting, phase: str, work: Callable[[], Any], facts: list[Facts]) -> list[Any]:
    """Run one phase on this rank, and gather what it gave on all ranks.

    Raises:
        CheckError: if it failed on some.
        MissingRanks: if some did not end it; then what failed on others is an echo of that.
    """
    try:
        part = {"gave": work()}
    except Exception as error:  # whatever it is, it shall be a line of the page
        part = {"failed": f"{type(error).__name__}: {str(error).strip()[:300]}"}
    parts = meeting.gather(phase, part)
    failed = {rank: part["failed"] for rank, part in enumerate(parts) if "failed" in part}
    causes = {rank: text for rank, text in failed.items() if not is_echo(text)} or failed
    if causes:
        raise CheckError(
            ClusterFinding(PROBLEM, f"{facts[rank]} failed in {phase}: {why}", ADDRESS) for rank, why in causes.items()
        )
    return [part["gave"] for part in parts]


def _missing_findings(error: MissingRanks, found: Checkup) -> list[ClusterFinding]:
    if error.phase == MEETING:
        found.facts = {rank: facts_from(row) for rank, row in error.parts.items()}
        if found.place.launcher == BY_HAND:
            return [ClusterFinding(PROBLEM, _machines_not_come(error.ranks, found), ABSENT)]
        return [ClusterFinding(PROBLEM, _not_come(rank, found), ABSENT) for rank in error.ranks]
    return [
        ClusterFinding(PROBLEM, _not_ended(found.facts[rank], error), ONE_DIED if rank in error.silent else FEWER)
        for rank in error.ranks
    ]


def _not_come(rank: int, found: Checkup) -> str:
    words = f"rank {rank} did not come to {found.place.address}, the address that all were given"
    one = next(iter(found.facts.values()))
    size = one.local_world_size
    same_machine = [each for each in found.facts.values() if each.rank // size == rank // size]
    if not same_machine:
        return words + f"; no rank of its machine (number {rank // size} of those that should be there) came"
    others = ", ".join(str(each.rank) for each in same_machine)
    return words + f"; of its machine, {same_machine[0].host}, came {others}: look at what it prints there"


def _machines_not_come(ranks: list[int], found: Checkup) -> str:
    """Machines are numbered as they come, so of the missing ones only their number is known."""
    hosts = ", ".join(f"{one.host} ({one.address.address})" for one in found.facts.values())
    missing = format_count(len(ranks), "machine")
    return f"{missing} did not come to {found.place.address}, the address that all were given; there are {hosts}"


def _not_ended(one: Facts, error: MissingRanks) -> str:
    if one.rank not in error.silent:
        return f"{one} is alive and did not end {error.phase} in time"
    return f"{one} fell silent in {error.phase}: {_state(one)}"


def _state(one: Facts) -> str:
    """The state of a silent process, as the system of this machine reports it."""
    if one.machine == machine():
        with contextlib.suppress(psutil.Error):
            state = psutil.Process(one.pid).status()
            return f"the system calls it {state}" + (
                " (Ctrl-Z, a debugger, SIGSTOP)" if state == psutil.STATUS_STOPPED else ""
            )
        return "its process is gone"
    return f"it was stopped or killed, or its machine is gone: on {one.host}, ps -o stat,cmd {one.pid}"
