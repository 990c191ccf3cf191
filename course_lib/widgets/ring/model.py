"""A ring of attention at one of its steps: whose keys each rank has, which scores are done, who works."""

from __future__ import annotations

import functools
from typing import NamedTuple

from course_lib.tensor_parallel import pairs_per_step, places_in_order, places_in_zigzag

__all__ = ["IN_ORDER", "RING_RANKS", "TOKENS", "ZIGZAG", "RingSetting", "RingStep", "pairs_of", "ring_step"]

IN_ORDER, ZIGZAG = "in order", "zigzag"
TOKENS = 1024  # of a sequence
RING_RANKS = 16  # at most: more have no room
CUTS = {IN_ORDER: places_in_order, ZIGZAG: places_in_zigzag}


class RingSetting(NamedTuple):
    """All that the controls say. `cut` is one of CUTS; `sequences` are those of a step."""

    cut: str
    ranks: int
    sequences: int
    hidden: int
    step: int = 0


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
