"""From what ranks say of themselves and of each other to what is not as it should be. Pure: no rank is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from course_lib.cluster_check.facts import Facts, ranks_in_words
from course_lib.cluster_check.findings import (
    ADDRESS,
    DEVICE,
    LIMITS,
    NOTE,
    ONE_DIED,
    PROBLEM,
    SHARED_MEMORY,
    THREADS,
    VERSIONS,
    Finding,
)
from course_lib.cluster_check.reach import Answer
from course_lib.draw import format_bytes, format_count, format_seconds

__all__ = ["judge_clocks", "judge_facts", "judge_reach"]

FEW_FILES, LITTLE_SHARED_BYTES = 1024, 256 * 10**6
CLOCKS_S = 0.1


def judge_facts(facts: Sequence[Facts]) -> list[Finding]:
    """What the ranks' own words show."""
    return [*_interfaces(facts), *_devices(facts), *_versions(facts), *_limits(facts), *_threads(facts)]


def _interfaces(facts: Sequence[Facts]) -> Iterator[Finding]:
    several = len({one.machine for one in facts} | {one.route.address for one in facts}) > 1
    for one in facts:
        if one.address.trouble:
            yield Finding(PROBLEM, f"{one}: {one.address.trouble}", ADDRESS)
        elif several and one.address.address.startswith("127.") and not one.route.address.startswith("127."):
            yield Finding(
                PROBLEM,
                f"{one} would let Gloo listen at {one.address}, where no other machine reaches it. {_advice(one)}",
                ADDRESS,
            )


def _advice(one: Facts) -> str:
    if one.route.interface in ("", one.address.interface):
        return "Is a firewall between?"
    return f"The way to where all meet leads by {one.route}: there, export GLOO_SOCKET_IFNAME={one.route.interface}"


def _devices(facts: Sequence[Facts]) -> Iterator[Finding]:
    backends = Counter(one.backend for one in facts)
    if len(backends) > 1:
        words = ", ".join(f"rank {one.rank}: {one.backend}" for one in facts)
        yield Finding(
            PROBLEM, f"ranks chose other backends ({words}): choose with --device cpu or --device gpu", DEVICE
        )
    on_gpus = Counter((one.machine, one.device) for one in facts if one.backend == "nccl")
    for (_, device), count in on_gpus.items():
        if count > 1:
            ranks = [one.rank for one in facts if one.device == device]
            yield Finding(PROBLEM, f"ranks {ranks} have one and the same device, {device}", DEVICE)


def _versions(facts: Sequence[Facts]) -> Iterator[Finding]:
    by_version: dict[str, list[int]] = {}
    for one in facts:
        by_version.setdefault(one.versions.rpartition(", ")[0], []).append(one.rank)
    if len(by_version) > 1:
        words = "; ".join(f"ranks {ranks_in_words(ranks)}: {version}" for version, ranks in by_version.items())
        yield Finding(NOTE, f"versions differ: {words}", VERSIONS)


def _limits(facts: Sequence[Facts]) -> Iterator[Finding]:
    few = [one.rank for one in facts if 0 <= one.open_files <= FEW_FILES]
    if few:
        count = min(facts[rank].open_files for rank in few)
        words = f"{ranks_in_words(few)} may open {count} files: many loader workers need more (ulimit -n 65536)"
        yield Finding(NOTE, words, LIMITS)
    locked = [one.rank for one in facts if one.backend == "nccl" and one.locked_bytes >= 0]
    if locked:
        most = format_bytes(facts[locked[0]].locked_bytes)
        words = f"{ranks_in_words(locked)} may lock {most} of memory: InfiniBand needs more (ulimit -l unlimited)"
        yield Finding(NOTE, words, LIMITS)
    little = [one.rank for one in facts if 0 <= one.shared_memory_bytes < LITTLE_SHARED_BYTES]
    if little:
        size = format_bytes(facts[little[0]].shared_memory_bytes)
        words = f"only {size} in /dev/shm: {ranks_in_words(little)} (in a container: --shm-size=8g)"
        yield Finding(NOTE, words, SHARED_MEMORY)


def _threads(facts: Sequence[Facts]) -> Iterator[Finding]:
    many = [one.rank for one in facts if one.threads * one.local_world_size > max(one.cores, one.local_world_size)]
    if many:
        one = facts[many[0]]
        words = f"{ranks_in_words(many)}: {one.local_world_size} ranks of {one.threads} threads share {one.cores} cores"
        advice = f" of {one.host}: export OMP_NUM_THREADS={max(1, one.cores // one.local_world_size)}"
        yield Finding(NOTE, words + advice, THREADS)
    crowded = [one.rank for one in facts if one.backend == "gloo" and one.local_world_size > one.cores]
    if crowded:
        one = facts[crowded[0]]
        words = f"{ranks_in_words(crowded)}: {one.local_world_size} ranks share {format_count(one.cores, 'core')} of "
        yield Finding(NOTE, f"{words}{one.host} and wait for their turns, so all times here are long", THREADS)


def judge_reach(answers: Mapping[tuple[int, int], Answer], facts: Sequence[Facts]) -> list[Finding]:
    """Who is not reached, by whom, at which address.

    Args:
        answers: what rank a got when it rang at rank b, by (a, b).
    """
    found = []
    for target in facts:
        by = [a for (a, b), answer in answers.items() if b == target.rank and answer.trouble]
        if by:
            why = answers[by[0], target.rank].trouble
            words = f"{ranks_in_words(by)} cannot reach {target} at {target.address} ({why}). {_advice(target)}"
            found.append(Finding(PROBLEM, words, ADDRESS))
    return found


def judge_clocks(answers: Mapping[tuple[int, int], Answer], facts: Sequence[Facts]) -> list[Finding]:
    """Machines whose clock is apart from that of rank 0."""
    found, seen = [], set()
    for one in facts:
        answer = answers.get((0, one.rank))
        if answer is None or answer.trouble or one.machine in seen:
            continue
        seen.add(one.machine)
        if abs(answer.clock_offset_s) > CLOCKS_S + answer.seconds:
            later = "ahead of" if answer.clock_offset_s > 0 else "behind"
            words = (
                f"the clock of {one.host} is {format_seconds(abs(answer.clock_offset_s))} {later} rank 0's: logs of "
            )
            found.append(Finding(NOTE, words + "several machines, sorted by time, mislead (chrony, ntpd)", ONE_DIED))
    return found
