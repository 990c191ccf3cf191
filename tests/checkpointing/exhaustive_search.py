"""The cheapest of all plans for a small chain, by trying everything."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from course_lib.checkpointing import Graph

Memory = tuple[int, int]  # the node that made it, and a number
UNUSED, PASSED, KEPT = 0, 1, 2  # a value that nobody has taken; that was taken just now; that stays for a second time


class State(NamedTuple):
    """What lives: values that are held, what stored layers keep, and which layer goes back next."""

    held: tuple[tuple[int, Memory, int], ...]
    stored: tuple[tuple[int, tuple[Memory, ...]], ...]
    next_back: int


def cheapest_cost(chain: Graph, budget_bytes: int, *, persistent: bool = True) -> float:
    """The least time of all forward runs within a budget, infinite if nothing fits (Dijkstra's algorithm).

    Args:
        persistent: whether a value that stays for a second time must stay until the layer behind it is stored.
    """
    start = State(((0, (0, 0), UNUSED),), (), len(chain) - 1)
    tie, best = count(), {start: 0.0}
    heap = [(0.0, next(tie), start)]
    while heap:
        cost, _, state = heapq.heappop(heap)
        if state.next_back == 0:
            return cost
        if cost > best[state]:
            continue
        for time, after in moves(chain, state, budget_bytes, persistent):
            if cost + time < best.get(after, float("inf")):
                best[after] = cost + time
                heapq.heappush(heap, (cost + time, next(tie), after))
    return float("inf")


def live_bytes(chain: Graph, held: list[Memory], stored: dict[int, tuple[Memory, ...]]) -> int:
    pieces = {*held, *(piece for pieces in stored.values() for piece in pieces)}
    own = sum(chain[node].stored_bytes for node in stored)
    return own + sum(chain[node].output_bytes for node, _ in pieces)


def moves(chain: Graph, state: State, budget_bytes: int, persistent: bool) -> Iterator[tuple[float, State]]:
    """All that can be done next; a layer that can go back does so at once, for that costs nothing."""
    held, stored = {node: (piece, use) for node, piece, use in state.held}, dict(state.stored)
    if state.next_back in stored:
        del stored[state.next_back]
        yield 0.0, named(held, stored, state.next_back - 1)
        return
    for node, (_, use) in held.items():
        if not (persistent and use == KEPT) or node + 1 in stored or node >= state.next_back:
            yield 0.0, named({each: held[each] for each in held if each != node}, stored, state.next_back)
    for node in range(1, state.next_back + 1):
        for store in (False, True):
            if node - 1 in held and not (store and node in stored):
                view_of = chain[node].view_of
                value = (node, 9) if view_of is None else held[view_of][0]
                after = {each: (piece, KEPT if use == PASSED else use) for each, (piece, use) in held.items()}
                after[node - 1] = after[node - 1][0], max(after[node - 1][1], PASSED)
                after[node] = value, UNUSED
                kept = stored | {node: tuple(after[each][0] for each in chain[node].needs)} if store else stored
                if live_bytes(chain, [value, *(piece for piece, _ in held.values())], kept) <= budget_bytes:
                    yield chain[node].forward_time, named(after, kept, state.next_back)


def named(held: dict, stored: dict, next_back: int) -> State:
    """The state with its pieces of memory numbered in the order in which they are met."""
    names: dict[Memory, Memory] = {}

    def name(piece: Memory) -> Memory:
        if piece not in names:
            names[piece] = piece[0], sum(each[0] == piece[0] for each in names)
        return names[piece]

    held_now = tuple((node, name(held[node][0]), held[node][1]) for node in sorted(held))
    return State(held_now, tuple((node, tuple(map(name, stored[node]))) for node in sorted(stored)), next_back)
