"""Plans for a chain of n layers that need no search: keep everything, keep nothing, segments, halving, and Revolve.

Nodes are 0 (the input) to n. A plan holds a value no longer than it must: what is stored keeps what it needs by itself.

Revolve has the fewest forward runs for equal layers and a number of slots. A slot holds one value; the input has one of
them. Storing is put off until the gradient is there (a stored layer may weigh far more than its value), so every layer
is stored once, right before its gradient passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import comb

from course_lib.checkpointing.plan import Action


def advance(start: int, end: int) -> list[Action]:
    """Run from a held value to a later one; both are held afterwards, and none between.

    >>> [str(action) for action in advance(0, 2)]
    ['run 1', 'run 2', 'free 1']
    """
    plan = []
    for node in range(start + 1, end + 1):
        plan.append(Action("run", node))
        if node - 1 > start:
            plan.append(Action("free", node - 1))
    return plan


def store_segment(start: int, end: int) -> list[Action]:
    """Store all layers behind a held value up to `end`, and go back through them; the value is let go.

    From 0 to n that is what autograd does: keep everything.

    >>> [str(action) for action in store_segment(4, 6)]
    ['store 5', 'free 4', 'store 6', 'free 5', 'free 6', 'back 6', 'back 5']
    """
    plan = []
    for node in range(start + 1, end + 1):
        plan += [Action("store", node), Action("free", node - 1)]
    plan.append(Action("free", end))
    return plan + [Action("back", node) for node in range(end, start, -1)]


def keep_nothing(start: int, end: int) -> list[Action]:
    """Keep only the value to start from, and recompute each layer from it: l(l + 1)/2 forward runs for l layers."""
    plan = []
    for node in range(end, start, -1):
        plan += advance(start, node - 1) + store_segment(node - 1, node)
    return plan


def segment_plan(bounds: Sequence[int]) -> list[Action]:
    """Keep the values at the bounds; go back segment by segment, each recomputed with all it needs.

    The last segment is stored at once, as its gradient comes first.

    Args:
        bounds: from 0 to n, rising.
    """
    plan = []
    for start, end in pairwise(bounds[:-1]):
        plan += advance(start, end)
    for start, end in reversed(list(pairwise(bounds))):
        plan += store_segment(start, end)
    return plan


def moved_segments(bounds: Sequence[int]) -> list[Action]:
    """`segment_plan`, and inputs wait on the host: each leaves when its segment has begun, and comes back for it.

    >>> [str(action) for action in moved_segments([0, 2, 4])][:4]
    ['run 1', 'move 0', 'run 2', 'free 1']
    """
    plan = []
    for start, end in pairwise(bounds[:-1]):
        first, *rest = advance(start, end)
        plan += [first, Action("move", start), *rest]
    for start, end in reversed(list(pairwise(bounds))):
        fetched = [Action("fetch", start)] if end < bounds[-1] else []
        plan += fetched + store_segment(start, end)
    return plan


def best_segments(length: int) -> list[int]:
    """Bounds of about √n segments, as equal as can be: of those that hold least, the ones that recompute least.

    The longer segments come first. While the last one goes back, all k inputs are held and its ⌊n/k⌋ layers; one before
    it may be a layer longer, and holds an input less. So k is the first number for which k + ⌊n/k⌋ is least, and n -
    ⌊n/k⌋ layers are recomputed.

    Raises:
        ValueError: unless there is a layer.

    Source: T. Chen, B. Xu, C. Zhang and C. Guestrin, "Training deep nets with sublinear memory cost", arXiv
    1604.06174, 2016, section 4.

    >>> best_segments(10)
    [0, 4, 7, 10]
    """
    if length < 1:
        raise ValueError(f"there must be a layer, got {length}")
    k = min(range(1, length + 1), key=lambda k: k + length // k)
    size, longer = divmod(length, k)
    return [number * size + min(number, longer) for number in range(k + 1)]


def torch_segments(length: int, segments: int) -> list[int]:
    """The bounds that `torch.utils.checkpoint.checkpoint_sequential` cuts at: the last segment takes what is left.

    >>> torch_segments(10, 4)
    [0, 2, 4, 6, 10]
    """
    if not 1 <= segments <= length:
        raise ValueError(f"there must be 1 to {length} segments, got {segments}")
    return [*range(0, length // segments * segments, length // segments), length]


def halving(start: int, end: int) -> list[Action]:
    """Keep the middle, go back through the second half, then through the first: log n values held, n log n runs."""
    if end - start <= 1:
        return store_segment(start, end)
    middle = (start + end) // 2
    return advance(start, middle) + halving(middle, end) + halving(start, middle)


def revolve_closed_form(length: int, slots: int) -> int:
    """The fewest runs, beside the one in which each layer is stored: r·l - C(c + r, r - 1).

    r is the smallest with C(c + r, r) ≥ l: no layer is then run more than r times before it is stored.

    Source: A. Griewank and A. Walther, "Algorithm 799: Revolve", ACM TOMS 26(1), 2000.

    >>> revolve_closed_form(100, 5)
    316
    """
    r = _max_runs(length, slots)
    return r * length - comb(slots + r, r - 1) if r else 0


def _max_runs(length: int, slots: int) -> int:
    if length < 1 or slots < 1:
        raise ValueError(f"there must be a layer and a slot, got {length} and {slots}")
    r = 0
    while comb(slots + r, r) < length:
        r += 1
    return r


def revolve_split(length: int, slots: int) -> int:
    """How many layers on the next value is kept, for two slots or more."""
    r = _max_runs(length, slots)
    least = comb(slots + r - 2, slots) if r > 1 else 1
    return max(1, least, length - comb(slots - 1 + r, r))


def revolve(length: int, slots: int) -> list[Action]:
    """The plan with the fewest runs that holds no more than `slots` values to start from.

    Beside these live the value that a run gives and, behind the last slot, the one that it takes.

    Cost: length + revolve_closed_form(length, slots) forward runs.
    """
    _max_runs(length, slots)
    return _revolve(0, length, slots)


def _revolve(start: int, end: int, slots: int) -> list[Action]:
    if end - start == 1 or slots == 1:
        return keep_nothing(start, end)
    middle = start + revolve_split(end - start, slots)
    return advance(start, middle) + _revolve(middle, end, slots - 1) + _revolve(start, middle, slots)
