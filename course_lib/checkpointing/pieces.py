"""A chain as pieces for a planner: what running a piece takes, what storing it takes, and what then stays.

A piece is one layer, or several that are run together. Views join the layer whose memory they look at, so that every
value between two pieces has memory of its own.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise

from course_lib.checkpointing.plan import Action, Graph, PlanError

__all__ = ["Piece", "memory_of", "piece_of", "pieces_of"]


@dataclass(frozen=True)
class Piece:
    """Some layers of a chain, one behind the other, and the bytes they take.

    Attributes:
        start, end: its layers are start + 1 to end.
        input_bytes, output_bytes: of the value that it takes and of the one that it gives.
        run_bytes: the most that lives while it is run: beside an input that stays anyway; with one that is let go.
        store_bytes: the same while it is stored.
        stored_bytes: what then stays beside its input and its output.
        needs_input, needs_output: whether these stay, too.
    """

    start: int
    end: int
    time: float
    input_bytes: int
    output_bytes: int
    run_bytes: tuple[int, int]
    store_bytes: tuple[int, int]
    stored_bytes: int
    needs_input: bool
    needs_output: bool

    def actions(self, kind: str, *, keep_input: bool) -> list[Action]:
        """Run or store it; of the values only its output is held afterwards, and its input on demand."""
        plan = []
        for node in range(self.start + 1, self.end + 1):
            plan.append(Action(kind, node))
            if node - 1 > self.start or not keep_input:
                plan.append(Action("free", node - 1))
        return plan


def piece_of(chain: Graph, start: int, end: int) -> Piece:
    """The layers start + 1 to end of a chain as one piece."""
    places = {node: memory_of(chain, node) for node in range(start, end + 1)}
    first, last = places[start], places[end]

    def size(alive: set[Hashable]) -> int:
        return sum(chain[each].output_bytes for each in alive)

    needed: set[Hashable] = set()
    stored = 0
    run = (0, 0)
    store = (0, 0)
    for node in range(start + 1, end + 1):
        pair = {places[node - 1], places[node]}
        needed |= {memory_of(chain, each) for each in chain[node].needs}
        stored += chain[node].stored_bytes
        run = max(run[0], size(pair - {first})), max(run[1], size(pair))
        store = max(store[0], stored + size((needed | pair) - {first})), max(store[1], stored + size(needed | pair))
    time = sum(chain[node].forward_time for node in range(start + 1, end + 1))
    ends = chain[first].output_bytes, chain[last].output_bytes if last != first else 0
    stays = stored + size(needed - {first, last})
    return Piece(start, end, time, *ends, run, store, stays, first in needed, last in needed - {first})


def memory_of(graph: Graph, node: Hashable) -> Hashable:
    """The node in whose memory a value lies: itself, but for a view."""
    while (view_of := graph[node].view_of) is not None:
        node = view_of
    return node


def pieces_of(chain: Graph, max_pieces: int) -> list[Piece]:
    """A chain's pieces: single layers, or, where there are more than `max_pieces`, so many groups of them.

    Raises:
        PlanError: if the graph is no chain 0, 1, 2, … in which each takes the value of the one before it.
    """
    length = len(chain) - 1
    if length < 1:
        raise PlanError(f"a chain must have an input and a layer, got {len(chain)} nodes")
    for node in range(length + 1):
        if node not in chain or tuple(chain[node].inputs) != ((node - 1,) if node else ()):
            raise PlanError(f"a chain's nodes are 0 to {length}, each taking the one before it; {node} does not")
    inner = range(1, length)
    ends = [*(node for node in inner if chain[node + 1].view_of is None and memory_of(chain, node) != 0), length]
    pieces = min(len(ends), max_pieces)
    ends = [ends[len(ends) * number // pieces - 1] for number in range(1, pieces + 1)]  # as even as they come
    return [piece_of(chain, start, end) for start, end in pairwise([0, *ends])]
