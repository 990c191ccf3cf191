"""Exercise 09c: a tensor train of a tensor, within an error that is asked for."""

from math import sqrt

import torch

from course_lib.decomposition import TensorTrain, tt_svd
from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_09.shared import alike, as_train, draw_cores
from course_lib.grading.exercises.common import function_exercise

# What the cuts see beside one large singular value, in units of δ. They tell mistakes apart: a budget that is not
# divided, or divided by d or (d - 1)²; values that are held against it one by one, or are added up without squares.
SMALL_VALUES = (
    ((4, 6, 4), ((4, 0.9), (3, 0.75, 0.7))),
    ((3, 7, 8, 4), ((4, 0.95), (4, 0.78, 0.75, 0.72), (4, 0.9, 0.3))),
    ((4, 7, 7, 6, 3), ((3, 1.5, 0.93), (4, 0.8, 0.5), (2.5, 0.7, 0.62), (4, 0.94))),
    ((2, 3, 2), ((1.11,), (1.11,))),  # the second is too much for an error of what the first cut has left
)


def tensors(rng):
    """Tensors whose singular values are chosen; two matrices, of which one needs its least value counted; one of small
    ranks; and zeros."""
    first = torch.zeros(2, 2, 2)
    first[0, 0, 0], first[1, 1, 1] = 4, 1
    calls = [(first, 0.3), (first, 0.4)]
    for (shape, values), relative_error in zip(SMALL_VALUES, (0.01, 0.002, 0.005, 0.5), strict=True):
        calls.append((float(rng.integers(20, 90)) * _drawn(rng, shape, values, relative_error), relative_error))
    calls.append((_drawn(rng, (6, 5), ((5, 0.8, 0.5),), 0.02), 0.02))
    calls.append((_drawn(rng, (4, 5), ((0.75, 0.6, 0.5),), 0.02), 0.02))
    calls.append((TensorTrain(tuple(draw_cores(rng, (4, 3, 5, 4), (2, 3, 2), 9))).full(), 1e-3))
    yield Case(1, calls, [_within(*call) for call in calls], label="tensors of two modes to five")
    nothing = [(torch.zeros(2, 3, 2), float(rng.choice([0.1, 0.2, 0.3])))]
    yield Case(1, nothing, [_within(*call) for call in nothing], label="a tensor of zeros", about={"zeros": True})


def _drawn(rng, shape, values, relative_error):
    """A 1 and, for each cut, pairs of neighbors that only this cut sees; then every mode is turned at random."""
    tensor, used = torch.zeros(tuple(shape), dtype=torch.float64), [1] * len(shape)
    tensor[(0,) * len(shape)] = 1
    for cut, sizes in enumerate(values):
        for size in sizes:
            place = [0] * len(shape)
            for mode in (cut, cut + 1):
                place[mode] = used[mode]
                used[mode] += 1
            tensor[tuple(place)] = size * relative_error / sqrt(len(shape) - 1)
    for n in shape:
        turn = torch.linalg.qr(torch.from_numpy(rng.normal(size=(n, n))))[0]
        tensor = torch.tensordot(tensor, turn, dims=([0], [0]))  # the modes come round once
    return tensor.float()


def _within(tensor, relative_error):
    """Cores within the error, of ranks no larger than those that TT-SVD finds."""
    norm, most = torch.linalg.vector_norm(tensor).item(), tt_svd(tensor, relative_error).ranks

    def judge(value):
        train = as_train(value, tensor.shape)
        if isinstance(train, str):
            return train
        error, ranks = torch.linalg.vector_norm(tensor - train.full()).item(), train.ranks
        if not error <= relative_error * norm * (1 + 1e-4) + 1e-9:  # cores of huge numbers give nan
            return f"gave ranks {ranks} and misses the tensor by {error:.4g}; {relative_error * norm:.4g} was allowed"
        if any(rank > enough for rank, enough in zip(ranks, most, strict=True)):
            return f"gave ranks {ranks}; within the error {most} are enough"
        return None

    return judge


def crashed_on_zeros(case, outcome):
    """A rank of 0."""
    if outcome.failure is None or not case.about.get("zeros"):
        return None
    return f"A rank is 1 at least, also where no singular value is worth keeping. {outcome.failure.text}"


MISTAKES = r"""
One cut may leave out ε‖A‖ / √(d − 1): all d − 1 of them leave something out
    / math.sqrt(tensor.dim() - 1) ->
What a cut leaves out is √(σ² + σ² + …) of all values behind the rank together, not the largest of them
    s[r:].norm() <= delta -> (s[r:] <= delta).all()
What a cut leaves out is √(σ² + σ² + …): squares add up, not the values
    s[r:].norm() -> s[r:].sum()
That holds the sum of squares against δ: take its root, or hold it against δ²
    s[r:].norm() -> s[r:].square().sum()
The error is relative: ε times the norm of the tensor is allowed
    relative_error * tensor.norm() -> relative_error
Pieces are orthogonal and squares add up: divide by √(d − 1), not by d − 1
    math.sqrt(tensor.dim() - 1) -> (tensor.dim() - 1)
There are d − 1 cuts, one less than modes
    tensor.dim() - 1 -> tensor.dim()
Take δ once, from the norm of the whole tensor: what a cut has left is smaller
    kept = -> delta = relative_error * rest.norm() / math.sqrt(tensor.dim() - 1)\n        kept =
Every cut may leave out as much: one that takes all that is allowed leaves those behind it nothing, and their ranks grow
    / math.sqrt(tensor.dim() - 1) ->
    cores.append( -> delta = (delta**2 - s[kept:].norm() ** 2).clamp(min=0).sqrt()\n        cores.append(
Nothing was left out, though the error allows it
    s[r:].norm() <= delta -> r == len(s)
The singular values go into one of the two factors, not into both
    u[:, :kept] -> (u * s)[:, :kept]
The singular values are missing: what remains is diag(σ) · vᵀ
    s[:kept, None] * vh -> vh
The singular values must go on with vᵀ: a cut that does not see them cannot tell what is small
    u[:, :kept] -> (u * s)[:, :kept]
    s[:kept, None] * vh -> vh
... A rank is 1 at least, also where
    range(1, len(s) + 1) -> range(len(s) + 1)
... numbers that are none
    rest.reshape(rank, -1, 1)] -> math.nan * rest.reshape(rank, -1, 1)]
"""

EXERCISE = function_exercise(
    __name__,
    cases=tensors,
    mistakes=MISTAKES,
    like=alike,
    before=(crashed_on_zeros,),
    hints="""
delta = relative_error * tensor.norm() / math.sqrt(d - 1) is what each of the d − 1 SVDs may leave out.
matrix = rest.reshape(rank * n, -1); u, s, vh = torch.linalg.svd(matrix, full_matrices=False). The smallest r for which s[r:].norm() <= delta, but 1 at least.
The core is u[:, :r].reshape(rank, n, r); rest = s[:r, None] * vh[:r]; rank = r. The last core is rest.reshape(rank, n, 1).
""",
)
