"""The ring explorer: ring attention step by step, whose keys each rank has, which scores are done, who works."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from course_lib.draw.colors import COLORS, FILLS
from course_lib.draw.panels import Bars, Cell, Matrix, Table, axis
from course_lib.draw.panels.drawing import Key
from course_lib.draw.units import format_bytes, format_count, format_share
from course_lib.tensor_parallel import pairs_per_step, places_in_order, places_in_zigzag
from course_lib.widgets.controls import menu, number, scale, step_slider
from course_lib.widgets.settings import EVERY, SteppedExplorer, control

IN_ORDER, ZIGZAG = "in order", "zigzag"
TOKENS = 1024  # of a sequence
RING_RANKS = 16  # at most: more have no room
CUTS = {IN_ORDER: places_in_order, ZIGZAG: places_in_zigzag}


@dataclass(frozen=True)
class RingSetting:
    """All that the controls say. `cut` is one of CUTS; `sequences` are those of a step."""

    cut: str = control(IN_ORDER, menu, "cut", [IN_ORDER, ZIGZAG], book=EVERY)
    ranks: int = control(4, number, "ranks", 1, RING_RANKS, book=[2, 4, 8, 16])
    sequences: int = control(8, scale, "sequences", [1, 2, 4, 8, 16, 32, 64], about="of 1,024 tokens each")
    hidden: int = control(4096, scale, "width", [768, 1024, 2048, 4096, 8192])
    step: int = control(2, step_slider, "step", book=EVERY)


class RingStep(NamedTuple):
    """A step of the ring; in step 0 nothing has been computed.

    Attributes:
        owners: the rank that the keys and values started on which each rank has now.
        pieces: the rank of each piece of the sequence, in its order.
        scores: "now", "done", "to come" or "masked" by piece of the queries and piece of the keys.
        pairs: of query and key, by step and rank, under a causal mask.
    """

    step: int
    owners: list[int]
    pieces: list[int]
    scores: list[list[str]]
    pairs: list[list[int]]

    @property
    def done(self) -> float:
        """The share of all pairs that is computed by the end of the step."""
        return sum(map(sum, self.pairs[: self.step])) / sum(map(sum, self.pairs))

    @property
    def now(self) -> list[int]:
        """Pairs of each rank in this step."""
        return self.pairs[self.step - 1] if self.step else [0] * len(self.owners)


@functools.lru_cache(maxsize=64)
def pairs_of(cut: str, ranks: int) -> list[list[int]]:
    """By step and rank, for a sequence that is cut this way."""
    return pairs_per_step(CUTS[cut](TOKENS, ranks))


def ring_step(setting: RingSetting) -> RingStep:
    """The ring at the setting's step."""
    ranks = setting.ranks
    step = min(setting.step, ranks)
    own = list(range(ranks))
    pieces = own if setting.cut == IN_ORDER else own + own[::-1]

    def score(query: int, key: int) -> str:
        if key > query:
            return "masked"
        turns = (pieces[query] - pieces[key]) % ranks
        return "to come" if turns >= step else "now" if turns == step - 1 else "done"

    return RingStep(
        step=step,
        owners=[(rank - max(step - 1, 0)) % ranks for rank in own],
        pieces=pieces,
        scores=[[score(query, key) for key in range(len(pieces))] for query in range(len(pieces))],
        pairs=pairs_of(setting.cut, ranks),
    )


# The pictures of ring attention: the scores that each rank computes at a step, who works and who waits.

_SHADES = {"now": COLORS["orange"], "done": COLORS["green"], "to come": COLORS["gray"], "masked": "paper"}
_WORK = {name: FILLS["what ranks do"][name].color for name in ("work", "wait")}


def describe_ring(ring: RingStep) -> str:
    """The step in words."""
    ranks, now = len(ring.owners), ring.now
    head = f"Step {ring.step} of {ranks}: "
    if not ring.step:
        return head + "each rank has its own queries, keys and values, and no score is computed yet."
    idle = [str(rank) for rank, pairs in enumerate(now) if not pairs]
    waiting = f"{format_count(len(idle), 'rank')} of {ranks} only waits" if len(idle) == 1 else ""
    waiting = waiting or (f"{len(idle)} of {ranks} ranks only wait" if idle else "nobody only waits")
    whose = "its own keys and values" if ring.step == 1 else "those that its left neighbor had"
    last = f" (rank 0 has rank {ring.owners[0]}'s)" if ring.step > 1 else ""
    return head + f"each rank has {whose}{last}; {waiting}. {format_share(ring.done)} of all scores are computed."


def _facts(setting: RingSetting, ring: RingStep) -> Table:
    ranks = len(ring.owners)
    sent = 2 * 2 * setting.sequences * -(-TOKENS // ranks) * setting.hidden if 0 < ring.step < ranks else 0
    slowest = {cut: sum(map(max, pairs_of(cut, ranks))) for cut in CUTS}
    own = slowest[setting.cut] / max(sum(map(sum, ring.pairs)) / ranks, 1)
    facts = {
        "sequence": f"{TOKENS:,} tokens, {-(-TOKENS // ranks):,} a rank",
        "then a rank sends on": format_bytes(sent),
        "scores computed": format_share(ring.done),
        "all steps take": f"{own:.2f} times an even share",
        "zigzag takes": f"{slowest[ZIGZAG] / slowest[IN_ORDER]:.0%} of in order",
    }
    return Table(facts, "computed")


def _scores(ring: RingStep) -> Matrix:
    """Queries down, keys across; the diagonal is half masked."""
    names = [str(rank) for rank in ring.pieces]
    return Matrix(
        title=f"Scores, step {ring.step} of {len(ring.owners)}",
        origin="computed",
        label=f"computed now: {_now(ring)}; {format_share(ring.done)} of all pairs are done",
        wide=True,
        cells=[[Cell(_SHADES[score]) for score in scores] for scores in ring.scores],
        row_names=names,
        column_names=names,
        across="keys, by the rank they are of",
        down="queries, by rank",
        min_px=5.0,
        keys=[Key(name, color) for name, color in _SHADES.items()],
    )


def _now(ring: RingStep) -> str:
    """Whose keys meet whose queries, for the first ranks."""
    if not ring.step:
        return "nothing"
    pairs = [f"queries of {rank} with keys of {owner}" for rank, owner in enumerate(ring.owners)]
    return ", ".join(pairs[:4]) + (", …" if len(pairs) > 4 else "")


def _work(ring: RingStep) -> Bars:
    most = max(ring.now)
    bars = {str(rank): {"work": float(n), "wait": float(most - n)} for rank, n in enumerate(ring.now)}
    words = [f"rank {rank}: {n:,}" for rank, n in enumerate(ring.now)]
    return _upright(f"Work in step {ring.step}", bars, "rank", _WORK, "; ".join(words), [max(map(max, ring.pairs))])


def _steps(setting: RingSetting, ring: RingStep) -> Bars:
    """What the slowest rank of each step computes; a mark says which is now."""
    slowest = [max(pairs) for pairs in ring.pairs]
    bars = {str(step): {"slowest rank": float(most)} for step, most in enumerate(slowest, start=1)}
    words = f"in all {sum(slowest):,} pairs"
    title = f"Slowest rank of each step, {setting.cut}"
    marks = {"now": (ring.step - 1.0, COLORS["vermillion"])} if ring.step else {}
    return _upright(title, bars, "step", {"slowest rank": _WORK["work"]}, words, slowest, marks)


def _upright(
    title: str,
    bars: dict[str, dict[str, float]],
    names: str,
    colors: dict[str, str],
    label: str,
    high: Sequence[float],
    marks: dict[str, tuple[float, str]] | None = None,
) -> Bars:
    y = axis("pairs of query and key", high)
    return Bars(
        title=title,
        origin="computed",
        label=label,
        bars=bars,
        axis=y,
        upright=True,
        names=names,
        colors=colors,
        marks=marks or {},
    )


class RingExplorer(SteppedExplorer):
    """Ring attention under a causal mask, step by step: who computes which scores, who waits, and what travels."""

    Setting = RingSetting

    @staticmethod
    def pictures(setting: RingSetting) -> list[str | Table | Matrix | Bars]:
        """All that is shown of a setting."""
        ring = ring_step(setting)
        return [describe_ring(ring), _facts(setting, ring), _scores(ring), _work(ring), _steps(setting, ring)]

    def steps(self, setting: RingSetting) -> int:
        """Keys and values visit every rank."""
        return setting.ranks
