"""The cheapest plan for a chain whose layers differ in time and size, within a memory budget: a dynamic program.

A piece is one layer, or several that are run together. Views join the layer whose memory they look at, so that every
value between two pieces has memory of its own.

To go back through the pieces s to t, with value s at hand, there are two ways to begin:

    store piece s, and go on with what memory is left;
    run to some value j and keep it, go back through j to t, and then through s to j with all memory again.

The plan found is the cheapest *persistent* one: of all in which a value that is kept stays until the layer behind it is
stored. To break that promise can pay, if rarely: then a smaller value is kept for a while in place of a large one.

Source: O. Beaumont, L. Eyraud-Dubois, J. Herrmann, A. Joly and A. Shilova, "Optimal checkpointing for heterogeneous
chains", arXiv 1911.13214, 2019. Theirs holds every layer's input; here a value goes when nothing stored needs it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

import numpy as np

from course_lib.checkpointing.chain_plans import best_segments, halving, segment_plan, store_segment
from course_lib.checkpointing.plan import Action, Graph, PlanError, plan_cost, plan_peak


@dataclass(frozen=True)
class ChainPiece:
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


def piece_of(chain: Graph, start: int, end: int) -> ChainPiece:
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
    return ChainPiece(start, end, time, *ends, run, store, stays, first in needed, last in needed - {first})


def memory_of(graph: Graph, node: Hashable) -> Hashable:
    """The node in whose memory a value lies: itself, but for a view."""
    while (view_of := graph[node].view_of) is not None:
        node = view_of
    return node


def pieces_of(chain: Graph, max_pieces: int) -> list[ChainPiece]:
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


MAX_PIECES = 80
STAYS, GOES = 0, 1  # whether the value to start from stays anyway, or counts and may be let go


class ChainPlanner:
    """The cheapest persistent plans for a chain, for every budget up to one.

    Up to 80 layers, and where sizes need not be rounded. Of more layers, groups are planned as one piece, so that a
    plan that cuts inside of a group may be cheaper: for 160 layers by some 4%. Sizes are rounded up to whole units of
    memory, 390 in the budget for 80 pieces, and more for fewer. Where so many units of their greatest common divisor
    reach the budget, nothing is lost by that.

    Cost: pieces³ · units / 3 operations, done by numpy.

    Args:
        budget_bytes: the largest budget; by default what keeping everything takes.
    """

    def __init__(self, chain: Graph, budget_bytes: float | None = None) -> None:
        self.pieces = pieces_of(chain, MAX_PIECES)
        everything = pieces_of(chain, 1)[0].store_bytes[GOES]
        count, divisor = len(self.pieces), max(1, gcd(*(size for piece in self.pieces for size in _sizes(piece))))
        levels = max(250, min(5 * 10**6 // count**2, 2 * 10**8 // count**3))  # 160 MB, and a second
        budget_bytes = None if budget_bytes is None else max(0, budget_bytes)
        cut = int(everything if budget_bytes is None else min(budget_bytes, everything))
        self.unit_bytes = max(divisor, -(-cut // levels))
        most = everything // self.unit_bytes + (0 if self.unit_bytes == divisor else 3 * count)  # what rounding adds
        self.levels = most if budget_bytes is None else min(int(budget_bytes) // self.unit_bytes, most)
        shape = 2, count, count + 1, self.levels + 1
        # [stays or goes, from, to, memory] -> time of all forward runs; and with that from `from` to `to` before them,
        # in memory beside the input.
        self._cost, self._ahead = np.full(shape, np.inf), np.full(shape, np.inf)
        for length in range(1, count + 1):
            for start in range(count - length + 1):
                for mode in self._modes(start):
                    self._solve(mode, start, start + length)

    def _modes(self, start: int) -> tuple[int, ...]:
        """A value stays anyway only where the layer that gave it needs it."""
        return (STAYS, GOES) if start and self.pieces[start - 1].needs_output else (GOES,)

    def _units(self, size: int) -> int:
        return -(-size // self.unit_bytes)

    def _solve(self, mode: int, start: int, end: int) -> None:
        cost = self._cost[mode, start, end]
        need, left, after = self._storing(mode, start)
        rest = self._cost[after, start + 1, end] if start + 1 < end else np.zeros(self.levels + 1)
        if need <= self.levels:
            cost[need:] = self.pieces[start].time + rest[need - left : self.levels + 1 - left]
        own = self._units(self.pieces[start].input_bytes) if mode == GOES else 0
        if start + 1 < end and own <= self.levels:
            split = self._cost[GOES, start + 1 : end, end] + self._ahead[mode, start, start + 1 : end]
            np.minimum(cost[own:], split[:, : self.levels + 1 - own].min(axis=0), out=cost[own:])
        beside = max(self.pieces[each].run_bytes[STAYS if each == start else GOES] for each in range(start, end))
        free, time = self._units(beside), sum(piece.time for piece in self.pieces[start:end])
        if own + free <= self.levels:
            self._ahead[mode, start, end, free : self.levels + 1 - own] = cost[own + free :] + time

    def _storing(self, mode: int, start: int) -> tuple[int, int, int]:
        """What storing a piece needs, what of that stays, and whether the next value then stays anyway. In units."""
        piece = self.pieces[start]
        stays = piece.stored_bytes + (piece.input_bytes if piece.needs_input and mode == GOES else 0)
        stays += piece.output_bytes if piece.needs_output else 0
        return self._units(piece.store_bytes[mode]), self._units(stays), STAYS if piece.needs_output else GOES

    def frontier(self) -> list[tuple[int, float]]:
        """(budget in bytes, least time of all forward runs): every budget at which another plan is the cheapest."""
        costs = self._cost[GOES, 0, len(self.pieces)]
        steps = [level for level in range(self.levels + 1) if level and costs[level] < costs[level - 1]]
        return [(level * self.unit_bytes, float(costs[level])) for level in steps]

    def plan(self, budget_bytes: float | None = None) -> list[Action]:
        """The cheapest plan within a budget: by default the largest.

        Raises:
            PlanError: if no plan fits.
        """
        level = self.levels if budget_bytes is None else min(int(budget_bytes) // self.unit_bytes, self.levels)
        if not np.isfinite(self._cost[GOES, 0, len(self.pieces), level]):
            enough = [f"; {least} are enough" for least, _ in self.frontier()[:1]]
            raise PlanError(f"no plan fits into {level * self.unit_bytes} bytes{''.join(enough)}")
        return self._plan(GOES, 0, len(self.pieces), level)

    def _plan(self, mode: int, start: int, end: int, level: int) -> list[Action]:
        piece, best = self.pieces[start], self._cost[mode, start, end, level]
        need, left, after = self._storing(mode, start)
        if need <= level:
            rest = self._cost[after, start + 1, end, level - left] if start + 1 < end else 0.0
            if piece.time + rest == best:
                return self._plan_stored(piece, after, start + 1, end, level - left)
        own = self._units(piece.input_bytes) if mode == GOES else 0
        inner, less = slice(start + 1, end), level - own
        costs = self._cost[GOES, inner, end, less] + self._ahead[mode, start, inner, less]
        middle = start + 1 + int(costs.argmin())
        runs = [a for each in self.pieces[start:middle] for a in each.actions("run", keep_input=each is piece)]
        return runs + self._plan(GOES, middle, end, less) + self._plan(mode, start, middle, level)

    def _plan_stored(self, piece: ChainPiece, after: int, start: int, end: int, level: int) -> list[Action]:
        """Store a piece, do all that lies behind it, and go back through it."""
        rest = self._plan(after, start, end, level) if start < end else [Action("free", piece.end)]
        back = [Action("back", node) for node in range(piece.end, piece.start, -1)]
        return piece.actions("store", keep_input=False) + rest + back


def plan_chain(chain: Graph, budget_bytes: float) -> list[Action]:
    """The cheapest plan that the planner finds within a budget, or a simple one where that is cheaper.

    Where sizes are rounded up, plans for up to a quarter more memory may fit, and are tried.

    Raises:
        PlanError: if none fits.
    """
    planner, length = ChainPlanner(chain, 1.25 * budget_bytes), len(chain) - 1
    steps = [step for step, _ in planner.frontier()]
    best, beyond = -1, len(steps)  # memory grows with the steps, nearly
    while best + 1 < beyond:
        middle = (best + beyond) // 2
        fits = plan_peak(planner.plan(steps[middle]), chain) <= budget_bytes
        best, beyond = (middle, beyond) if fits else (best, middle)
    plans = [planner.plan(steps[best])] if best >= 0 else []
    plans += [
        plan
        for plan in (store_segment(0, length), segment_plan(best_segments(length)), halving(0, length))
        if plan_peak(plan, chain) <= budget_bytes
    ]
    return min(plans, key=lambda plan: plan_cost(plan, chain)) if plans else ChainPlanner(chain, budget_bytes).plan()


def _sizes(piece: ChainPiece) -> tuple[int, ...]:
    return (piece.input_bytes, piece.output_bytes, piece.stored_bytes, *piece.run_bytes, *piece.store_bytes)
