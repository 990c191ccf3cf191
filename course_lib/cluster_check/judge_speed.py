"""From times to links, all-reduces and ranks that are slow. Pure: times in, findings out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from course_lib.cluster_check.facts import Facts, ranks_in_words
from course_lib.cluster_check.findings import LINK, NOTE, SLOW_ONE, Finding
from course_lib.cluster_check.pairs import Pair
from course_lib.cluster_check.reductions import expected_seconds
from course_lib.draw import format_bytes, format_rate, format_seconds
from course_lib.published import Timing

__all__ = ["judge_pairs", "judge_products", "judge_sums", "kinds_of"]

SLOW_LINK, FAR_LINK = 4.0, 10.0  # times slower than the best of its kind; than within a machine, or than promised
SLOW_RANK, SLOW_SUM = 1.5, 4.0


def kinds_of(pairs: Sequence[Pair], facts: Sequence[Facts]) -> dict[str, list[Pair]]:
    """The pairs by kind: "within a machine" and "between machines"."""
    kinds: dict[str, list[Pair]] = {"within a machine": [], "between machines": []}
    for pair in pairs:
        apart = facts[pair.one].machine != facts[pair.other].machine
        kinds["between machines" if apart else "within a machine"].append(pair)
    return {kind: found for kind, found in kinds.items() if found}


def judge_pairs(pairs: Sequence[Pair], facts: Sequence[Facts]) -> list[Finding]:
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
            Finding(NOTE, f"{words}; the interface {facts[best.one].address.interface} says {format_rate(says)}", LINK)
        )
    elif "within a machine" in kinds:
        inside = max(pair.bytes_per_s for pair in kinds["within a machine"])
        if inside > FAR_LINK * best.bytes_per_s:
            found.append(Finding(NOTE, f"{words}; within a machine {format_rate(inside)}", LINK))
    return found


def _pairs_at_once(count: int) -> str:
    """
    >>> _pairs_at_once(1), _pairs_at_once(4)
    ('one pair at a time', '4 pairs at a time')
    """
    return "one pair at a time" if count == 1 else f"{count} pairs at a time"


def _slow_ones(kind: str, pairs: Sequence[Pair], facts: Sequence[Facts]) -> Iterator[Finding]:
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
    yield Finding(NOTE, words + shared, SLOW_ONE)


def judge_sums(sums: Sequence[Timing], pairs: Sequence[Pair], facts: Sequence[Facts]) -> list[Finding]:
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
    return [Finding(NOTE, words, LINK)]


def judge_products(products: Sequence[float], facts: Sequence[Facts]) -> list[Finding]:
    """Ranks that compute more slowly than the fastest."""
    best = max(products)
    slow = [rank for rank, each in enumerate(products) if each * SLOW_RANK < best]
    if not slow:
        return []
    worst = min(slow, key=lambda rank: products[rank])
    words = (
        f"slow to compute: {ranks_in_words(slow)}. The slowest, {facts[worst]}, makes {products[worst] / 1e9:.3g} "
        f"billion operations a second in a matrix product, the fastest {best / 1e9:.3g}. Does something else run there?"
    )
    return [Finding(NOTE, words, SLOW_ONE)]
