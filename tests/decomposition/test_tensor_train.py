"""The tensor train: its cores by hand, and the law ‖A − B‖ ≤ ε‖A‖ on every tensor that we can think of."""

from math import prod

import pytest
import torch

from course_lib.decomposition import (
    TensorTrain,
    count,
    hosvd,
    truncated_svd,
    tt_element_flops,
    tt_full_flops,
    tt_ranks,
    tt_round,
    tt_svd,
    tt_svd_flops,
)

from .trains import drawn, train

SHAPES = [(5,), (1,), (3, 7), (1, 6), (2, 3, 4), (4, 1, 5), (1, 1, 1), (5, 2, 7, 3), (2, 3, 1, 4, 5), (2,) * 9]
ERRORS = [0.0, 1e-12, 1e-6, 0.01, 0.1, 0.5, 0.999, 1.0, 3.0]
ROUNDING = 1e-14


def spiky(shape: tuple[int, ...]) -> torch.Tensor:
    """One large element, one small: all singular values but two are zero."""
    tensor = torch.zeros(shape, dtype=torch.float64)
    tensor.view(-1)[0], tensor.view(-1)[-1] = 1e8, 1e-3
    return tensor


def diagonal(shape: tuple[int, ...]) -> torch.Tensor:
    """Ones where all indices are equal: every singular value is 1, so what is left out falls on the border of ε."""
    tensor = torch.zeros(shape, dtype=torch.float64)
    for i in range(min(shape)):
        tensor[(i,) * len(shape)] = 1
    return tensor


def falling(shape: tuple[int, ...]) -> torch.Tensor:
    """Singular values over 300 powers of ten."""
    place = sum(torch.meshgrid(*(torch.arange(n, dtype=torch.float64) for n in shape), indexing="ij"))
    return 10.0 ** (-300 * place / place.max().clamp(min=1))


MAKERS = {
    "random": lambda shape: drawn(*shape),
    "large": lambda shape: 1e100 * drawn(*shape),
    "small": lambda shape: 1e-100 * drawn(*shape),
    "low rank": lambda shape: train(shape, 2).full(),
    "low rank and noise": lambda shape: train(shape, 2).full() + 1e-3 * drawn(*shape, seed=9),
    "spiky": spiky,
    "diagonal": diagonal,
    "falling": falling,
    "ones": lambda shape: torch.ones(shape, dtype=torch.float64),
    "zeros": lambda shape: torch.zeros(shape, dtype=torch.float64),
    "turned": lambda shape: drawn(*reversed(shape)).permute(*reversed(range(len(shape)))),
}


def test_a_sum_of_indices_has_ranks_of_two_by_hand():
    # i + j + k = [i 1] · [[1 0] [j 1]] · [1 k]ᵀ
    i, j, k = (torch.arange(n, dtype=torch.float64) for n in (2, 3, 4))
    one = torch.ones_like
    first = torch.stack([i, one(i)], 1)[None]
    middle = torch.stack([torch.stack([one(j), 0 * j], 1), torch.stack([j, one(j)], 1)])
    last = torch.stack([one(k), k])[..., None]
    by_hand = TensorTrain((first, middle, last))
    whole = i[:, None, None] + j[:, None] + k
    assert torch.equal(by_hand.full(), whole)
    assert by_hand.element((1, 2, 3)) == 6
    assert by_hand.ranks == tt_svd(whole).ranks == tt_ranks(whole) == (1, 2, 2, 1)
    assert (by_hand.shape, by_hand.numbers) == ((2, 3, 4), 4 + 12 + 8)
    assert by_hand.compression == 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MAKERS)
def test_the_error_is_at_most_what_was_asked(name, shape):
    tensor = MAKERS[name](shape)
    for relative_error in ERRORS:
        cores = tt_svd(tensor, relative_error)
        assert cores.shape == shape
        assert (tensor - cores.full()).norm() <= (relative_error + ROUNDING) * tensor.norm()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_without_an_error_the_ranks_are_those_of_the_unfoldings(shape, rank):
    tensor = train(shape, rank).full()
    bounds = [min(rank, prod(shape[:k]), prod(shape[k:])) for k in range(1, len(shape))]
    ranks = tt_svd(tensor).ranks
    assert ranks == tt_ranks(tensor)
    assert all(found <= bound for found, bound in zip(ranks[1:-1], bounds, strict=True))


@pytest.mark.parametrize("shape", [(2, 3, 4), (5, 2, 7, 3)])
@pytest.mark.parametrize("relative_error", [0.01, 0.1, 0.5])
def test_no_train_of_that_accuracy_has_smaller_ranks_than_the_unfoldings(shape, relative_error):
    tensor = train(shape, 2).full() + 0.05 * drawn(*shape, seed=9)
    found, least = tt_svd(tensor, relative_error).ranks, tt_ranks(tensor, relative_error)
    assert all(a >= b for a, b in zip(found, least, strict=True))


@pytest.mark.parametrize("largest_rank", [1, 2, 5])
def test_a_largest_rank_costs_at_most_the_root_of_the_modes_over_the_best(largest_rank):
    tensor = drawn(4, 5, 3, 6)
    found = tt_svd(tensor, largest_rank=largest_rank)
    unfoldings = [tensor.reshape(prod(tensor.shape[:k]), -1) for k in (1, 2, 3)]
    best = max(torch.linalg.svdvals(u)[largest_rank:].norm() for u in unfoldings)  # no train of these ranks is nearer
    assert max(found.ranks) == largest_rank
    assert best <= (tensor - found.full()).norm() <= 3**0.5 * best


@pytest.mark.parametrize("shape", SHAPES)
def test_an_element_is_the_one_of_the_whole_tensor(shape):
    cores = train(shape, 3)
    whole = cores.full()
    for index in [(0,) * len(shape), tuple(n - 1 for n in shape), tuple(n // 2 for n in shape)]:
        torch.testing.assert_close(cores.element(index), whole[index])


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_counted_is_what_the_formulas_say(shape):
    cores, tensor = train(shape, 3), drawn(*shape)
    assert count(cores.element, (0,) * len(shape)).flops == tt_element_flops(cores)
    assert count(cores.full).flops == tt_full_flops(cores)
    for relative_error in (0.0, 0.5):
        counts = count(tt_svd, tensor, relative_error)
        assert counts.flops == tt_svd_flops(counts.result)


def test_a_core_keeps_no_more_memory_than_its_numbers():
    for core in tt_svd(drawn(8, 9, 7, 6), largest_rank=2).cores:
        assert core.untyped_storage().nbytes() == 8 * core.numel()


def test_float32_stays_float32_to_its_own_rounding():
    tensor = train((4, 5, 6), 2).full().float()
    cores = tt_svd(tensor)
    assert cores.cores[0].dtype == torch.float32
    assert cores.ranks == (1, 2, 2, 1)
    assert (tensor - cores.full()).norm() <= 1e-5 * tensor.norm()


@pytest.mark.parametrize(
    ("tensor", "relative_error", "words"),
    [
        (torch.tensor(3.0), 0, r"got shape \(\)"),
        (torch.ones(2, 0, 3), 0, r"got shape \(2, 0, 3\)"),
        (torch.ones(2, 3, dtype=torch.uint8), 0, "got torch.uint8"),
        (torch.tensor([1.0, torch.nan]), 0, "nan"),
        (torch.ones(2, 3), -0.1, "got -0.1"),
    ],
)
def test_what_cannot_be_decomposed_is_refused(tensor, relative_error, words):
    for decompose in (tt_svd, hosvd):
        with pytest.raises(ValueError, match=words):
            decompose(tensor, relative_error)


@pytest.mark.parametrize(
    "decompose",
    [tt_svd, hosvd, truncated_svd, lambda a, error, rank: tt_round(tt_svd(a), error, rank)],
    ids=["tt_svd", "hosvd", "truncated_svd", "tt_round"],
)
def test_no_error_below_0_and_no_rank_below_1_is_allowed(decompose):
    for error in (-0.1, float("nan")):
        with pytest.raises(ValueError, match=f"the error must be 0 or more, got {error}"):
            decompose(drawn(3, 4), error, None)
    for rank in (0, -1):
        with pytest.raises(ValueError, match=f"largest_rank must be at least 1, or None for no limit, got {rank}"):
            decompose(drawn(3, 4), 0.0, rank)


@pytest.mark.parametrize("size", [3e38, 1e30, 1e-30, 1e-40])
@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4, 2)])
def test_the_largest_and_the_smallest_finite_numbers_are_decomposed(shape, size):
    tensor = size * train(shape, 2).full().sign().float()
    cores = tt_svd(tensor, relative_error=1e-3)
    exact = TensorTrain(tuple(core.double() for core in cores.cores)).full()  # in fp32 sums of two terms may overflow
    assert (tensor.double() - exact).norm() / tensor.double().norm() <= 1.1e-3
    assert cores.ranks == tt_svd(tensor.double(), relative_error=1e-3).ranks


def test_a_norm_that_overflows_is_refused_where_one_tensor_must_hold_it():
    with pytest.raises(
        ValueError, match=r"norm of a tensor must be a number of torch.float32, got one that is too large"
    ):
        hosvd(torch.full((4, 4), 3e38))
    with pytest.raises(ValueError, match="norm of a train must be finite to round it, got inf"):
        tt_round(tt_svd(torch.full((4, 4), 3e38)))


@pytest.mark.parametrize("shapes", [[], [(2, 3)], [(1, 2, 3), (2, 4, 1)], [(2, 3, 1)], [(1, 3, 2)]])
def test_cores_that_do_not_chain_are_refused(shapes):
    with pytest.raises(ValueError, match="got shapes"):
        TensorTrain(tuple(torch.ones(shape) for shape in shapes))
