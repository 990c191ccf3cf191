"""Findings from what ranks say and from what was measured. Pure functions: no rank is asked, nothing is measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from course_lib.cluster_check.facts import Facts, name_ranks
from course_lib.cluster_check.findings import (
    ADDRESS,
    DEVICE,
    LIMITS,
    LINK,
    NOTE,
    ONE_DIED,
    PROBLEM,
    SHARED_MEMORY,
    SLOW_ONE,
    THREADS,
    VERSIONS,
    ClusterFinding,
)
from course_lib.cluster_check.measure import ProbeAnswer, RankPair, expected_seconds
from course_lib.draw import format_bytes, format_count, format_rate, format_seconds
from course_lib.published import Timing

# --- Findings about machines: interfaces, devices, versions, limits, reachability, clocks.


FEW_FILES, LITTLE_SHARED_BYTES = 1024, 256 * 10**6
CLOCKS_S = 0.1


def judge_facts(facts: Sequence[Facts]) -> list[ClusterFinding]:
    """Findings from the facts that ranks report about themselves."""
    return [*_interfaces(facts), *_devices(facts), *_versions(facts), *_limits(facts), *_threads(facts)]


def _interfaces(facts: Sequence[Facts]) -> Iterator[ClusterFinding]:
    several = len({one.machine for one in facts} | {one.route.address for one in facts}) > 1
    for one in facts:
        if one.address.trouble:
            yield ClusterFinding(PROBLEM, f"{one}: {one.address.trouble}", ADDRESS)
        elif several and one.address.address.startswith("127.") and not one.route.address.startswith("127."):
            yield ClusterFinding(
                PROBLEM,
                f"{one} would let Gloo listen at {one.address}, where no other machine reaches it. {_advice(one)}",
                ADDRESS,
            )


def _advice(one: Facts) -> str:
    if one.route.interface in ("", one.address.interface):
        return "Is a firewall between?"
    return f"The way to where all meet leads by {one.route}: there, export GLOO_SOCKET_IFNAME={one.route.interface}"


def _devices(facts: Sequence[Facts]) -> Iterator[ClusterFinding]:
    backends = Counter(one.backend for one in facts)
    if len(backends) > 1:
        words = ", ".join(f"rank {one.rank}: {one.backend}" for one in facts)
        yield ClusterFinding(
            PROBLEM, f"ranks chose other backends ({words}): choose with --device cpu or --device gpu", DEVICE
        )
    on_gpus = Counter((one.machine, one.device) for one in facts if one.backend == "nccl")
    for (_, device), count in on_gpus.items():
        if count > 1:
            ranks = [one.rank for one in facts if one.device == device]
            yield ClusterFinding(PROBLEM, f"ranks {ranks} have one and the same device, {device}", DEVICE)


def _versions(facts: Sequence[Facts]) -> Iterator[ClusterFinding]:
    by_version: dict[str, list[int]] = {}
    for one in facts:
        by_version.setdefault(one.versions.rpartition(", ")[0], []).append(one.rank)
    if len(by_version) > 1:
        words = "; ".join(f"ranks {name_ranks(ranks)}: {version}" for version, ranks in by_version.items())
        yield ClusterFinding(NOTE, f"versions differ: {words}", VERSIONS)


def _limits(facts: Sequence[Facts]) -> Iterator[ClusterFinding]:
    few = [one.rank for one in facts if 0 <= one.open_files <= FEW_FILES]
    if few:
        count = min(facts[rank].open_files for rank in few)
        words = f"{name_ranks(few)} may open {count} files: many loader workers need more (ulimit -n 65536)"
        yield ClusterFinding(NOTE, words, LIMITS)
    locked = [one.rank for one in facts if one.backend == "nccl" and one.locked_bytes >= 0]
    if locked:
        most = format_bytes(facts[locked[0]].locked_bytes)
        words = f"{name_ranks(locked)} may lock {most} of memory: InfiniBand needs more (ulimit -l unlimited)"
        yield ClusterFinding(NOTE, words, LIMITS)
    little = [one.rank for one in facts if 0 <= one.shared_memory_bytes < LITTLE_SHARED_BYTES]
    if little:
        size = format_bytes(facts[little[0]].shared_memory_bytes)
        words = f"only {size} in /dev/shm: {name_ranks(little)} (in a container: --shm-size=8g)"
        yield ClusterFinding(NOTE, words, SHARED_MEMORY)


def _threads(facts: Sequence[Facts]) -> Iterator[ClusterFinding]:
    many = [one.rank for one in facts if one.threads * one.local_world_size > max(one.cores, one.local_world_size)]
    if many:
        one = facts[many[0]]
        words = f"{name_ranks(many)}: {one.local_world_size} ranks of {one.threads} threads share {one.cores} cores"
        advice = f" of {one.host}: export OMP_NUM_THREADS={max(1, one.cores // one.local_world_size)}"
        yield ClusterFinding(NOTE, words + advice, THREADS)
    crowded = [one.rank for one in facts if one.backend == "gloo" and one.local_world_size > one.cores]
    if crowded:
        one = facts[crowded[0]]
        words = f"{name_ranks(crowded)}: {one.local_world_size} ranks share {format_count(one.cores, 'core')} of "
        yield ClusterFinding(NOTE, f"{words}{one.host} and wait for their turns, so all times here are long", THREADS)


def judge_reach(answers: Mapping[tuple[int, int], ProbeAnswer], facts: Sequence[Facts]) -> list[ClusterFinding]:
    """Who is not reached, by whom, at which address.

    Args:
        answers: what rank a got when it probed rank b, by (a, b).
    """
    found = []
    for target in facts:
        by = [a for (a, b), answer in answers.items() if b == target.rank and answer.trouble]
        if by:
            why = answers[by[0], target.rank].trouble
            words = f"{name_ranks(by)} cannot reach {target} at {target.address} ({why}). {_advice(target)}"
            found.append(ClusterFinding(PROBLEM, words, ADDRESS))
    return found


def judge_clocks(answers: Mapping[tuple[int, int], ProbeAnswer], facts: Sequence[Facts]) -> list[ClusterFinding]:
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
            found.append(
                ClusterFinding(NOTE, words + "several machines, sorted by time, mislead (chrony, ntpd)", ONE_DIED)
            )
    return found


# --- Findings about speed: links, all-reduce, computing.


SLOW_LINK, FAR_LINK = 4.0, 10.0  # times slower than the best of its kind; than within a machine, or than promised
SLOW_RANK, SLOW_SUM = 1.5, 4.0


def kinds_of(pairs: Sequence[RankPair], facts: Sequence[Facts]) -> dict[str, list[RankPair]]:
    """The pairs by kind: "within a machine" and "between machines"."""
    kinds: dict[str, list[RankPair]] = {"within a machine": [], "between machines": []}
    for pair in pairs:
        apart = facts[pair.one].machine != facts[pair.other].machine
        kinds["between machines" if apart else "within a machine"].append(pair)
    return {kind: found for kind, found in kinds.items() if found}


def judge_pairs(pairs: Sequence[RankPair], facts: Sequence[Facts]) -> list[ClusterFinding]:
    """Links slower than the best of their kind, than their interface says, or far slower than within a machine."""
    kinds = kinds_of(pairs, facts)
    found = [finding for kind, each in kinds.items() for finding in _slow_ones(kind, each, facts)]
    if found or "between machines" not in kinds:
        return found
    best = max(kinds["between machines"], key=lambda pair: pair.bytes_per_s)
    says = min(facts[best.one].interface_bits_per_s, facts[best.other].interface_bits_per_s) / 8
    at_once = max(1, min(facts[best.one].local_world_size, facts[best.other].local_world_size))
    words = f"between machines at most {format_rate(best.bytes_per_s)} a pair, {_pairs_at_once(at_once)}"
    if says and best.bytes_per_s * at_once < says / FAR_LINK:
        found.append(
            ClusterFinding(
                NOTE, f"{words}; the interface {facts[best.one].address.interface} says {format_rate(says)}", LINK
            )
        )
    elif "within a machine" in kinds:
        inside = max(pair.bytes_per_s for pair in kinds["within a machine"])
        if inside > FAR_LINK * best.bytes_per_s:
            found.append(ClusterFinding(NOTE, f"{words}; within a machine {format_rate(inside)}", LINK))
    return found


def _pairs_at_once(count: int) -> str:
    """
    >>> _pairs_at_once(1), _pairs_at_once(4)
    ('one pair at a time', '4 pairs at a time')
    """
    return "one pair at a time" if count == 1 else f"{count} pairs at a time"


def _slow_ones(kind: str, pairs: Sequence[RankPair], facts: Sequence[Facts]) -> Iterator[ClusterFinding]:
    """One finding for all slow links of a kind: the machine or the rank that they have in common, if they have one."""
    best = max(pair.bytes_per_s for pair in pairs)
    slow = [pair for pair in pairs if pair.bytes_per_s * SLOW_LINK < best]
    if not slow:
        return
    worst = min(slow, key=lambda pair: pair.bytes_per_s)
    fast = [pair for pair in pairs if pair not in slow]
    where: Callable[[int], str] = (lambda rank: facts[rank].host) if "between" in kind else str
    common = set.intersection(*({where(pair.one), where(pair.other)} for pair in slow))
    common -= {where(rank) for pair in fast for rank in (pair.one, pair.other)} if len(common) > 1 else set()
    name = f"{'machine' if 'between' in kind else 'rank'} {', '.join(sorted(common))}"
    shared = f"; all slow ones have {name} in common" if common else ""
    words = (
        f"{len(slow)} of {len(pairs)} links {kind} are slow; the slowest, {facts[worst.one].host} (rank {worst.one}) "
        f"to {facts[worst.other].host} (rank {worst.other}), carries {format_rate(worst.bytes_per_s)}, "
        f"the fastest {format_rate(best)}"
    )
    yield ClusterFinding(NOTE, words + shared, SLOW_ONE)


def judge_sums(sums: Sequence[Timing], pairs: Sequence[RankPair], facts: Sequence[Facts]) -> list[ClusterFinding]:
    """An all-reduce far slower than the model makes it of the pairs.

    Within one machine Gloo's ranks share cores and memory, which the model does not know: that is no finding.
    """
    if not sums or not pairs or (facts[0].backend == "gloo" and len({one.machine for one in facts}) == 1):
        return []
    last, world_size = sums[-1], len(facts)
    expected_s = expected_seconds(last.message_bytes, pairs, world_size)
    if last.seconds < SLOW_SUM * expected_s:
        return []
    words = (
        f"an all-reduce of {format_bytes(last.message_bytes)} takes {format_seconds(last.seconds)}; by the links that "
        f"were measured a ring takes {format_seconds(expected_s)}: do ranks share a link, or cores?"
    )
    return [ClusterFinding(NOTE, words, LINK)]


def judge_products(products: Sequence[float], facts: Sequence[Facts]) -> list[ClusterFinding]:
    """Ranks that compute more slowly than the fastest."""
    best = max(products)
    slow = [rank for rank, each in enumerate(products) if each * SLOW_RANK < best]
    if not slow:
        return []
    worst = min(slow, key=lambda rank: products[rank])
    words = (
        f"slow to compute: {name_ranks(slow)}. The slowest, {facts[worst]}, makes {products[worst] / 1e9:.3g} "
        f"billion operations a second in a matrix product, the fastest {best / 1e9:.3g}. Does something else run there?"
    )
    return [ClusterFinding(NOTE, words, SLOW_ONE)]
