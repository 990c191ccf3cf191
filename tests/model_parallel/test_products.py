"""Matrix products: Strassen on one rank, Cannon and SUMMA on a grid of them."""

from itertools import pairwise

import pytest
import torch

from course_lib import RankError, run, simulate
from course_lib.model_parallel import (
    Grid,
    cannon_elements_sent,
    cannon_product,
    classical_operations,
    layered_elements_sent,
    layered_product,
    min_elements_moved,
    panels,
    strassen_operations,
    strassen_product,
    summa_elements_received,
    summa_elements_sent,
    summa_product,
)


def whole(*shape: int) -> torch.Tensor:
    return torch.randint(-9, 10, shape, generator=torch.Generator().manual_seed(sum(shape)))


def joined(blocks: list[torch.Tensor], columns: int) -> torch.Tensor:
    rows = [torch.cat(blocks[start : start + columns], 1) for start in range(0, len(blocks), columns)]
    return torch.cat(rows)


def by_cannon(comm, side, a, b):
    grid = Grid(comm, side, side)
    return cannon_product(comm, grid.block(a), grid.block(b), a.shape[1])


def by_summa(comm, rows, columns, a, b):
    grid = Grid(comm, rows, columns)
    return summa_product(comm, grid.block(a), grid.block(b), rows, columns, a.shape[1])


def by_layers(comm, layers, a, b):
    side = round((comm.world_size / layers) ** 0.5)
    layer, place = divmod(comm.rank, side * side)
    mine = []
    for matrix in (a, b):
        block = matrix.tensor_split(side, 0)[place // side].tensor_split(side, 1)[place % side]
        mine.append(block.tensor_split(layers)[layer].contiguous())
    return layered_product(comm, *mine, a.shape[0], a.shape[1], b.shape[1], layers)


def joined_layers(parts, layers):
    """C of the ranks' rows of their blocks."""
    square = len(parts) // layers
    blocks = [torch.cat(parts[place::square]) for place in range(square)]
    return joined(blocks, round(square**0.5))


SIZES = [(6, 6, 6), (7, 5, 4), (2, 1, 3), (5, 11, 3)]


@pytest.mark.parametrize("side", [1, 2, 3])
@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_cannon_gives_the_product_and_sends_what_its_formula_says(side, m, k, n):
    a, b = whole(m, k), whole(k, n)
    report = simulate(by_cannon, side * side, args=(side, a, b))
    assert torch.equal(joined(report.results, side), a @ b)
    assert [sent // 8 for sent in report.trace.bytes_sent] == cannon_elements_sent(m, k, n, side * side)


@pytest.mark.parametrize(("ranks", "layers"), [(1, 1), (4, 1), (8, 2), (9, 1), (18, 2), (27, 3), (32, 2)])
@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_layers_of_ranks_give_the_product_and_send_what_their_formula_says(ranks, layers, m, k, n):
    a, b = whole(m, k), whole(k, n)
    report = simulate(by_layers, ranks, args=(layers, a, b))
    assert torch.equal(joined_layers(report.results, layers), a @ b)
    assert [sent // 8 for sent in report.trace.bytes_sent] == layered_elements_sent(m, k, n, ranks, layers)


@pytest.mark.parametrize(("ranks", "layers"), [(64, 4), (256, 4), (1024, 4), (4096, 16), (27, 3)])
def test_with_lengths_that_divide_copies_and_turns_are_a_short_formula(ranks, layers):
    n = 432 if ranks == 27 else 1024
    turns, copies = 2 * n * n / (ranks * layers) ** 0.5, 3 * (layers - 1) * n * n / ranks
    assert max(layered_elements_sent(n, n, n, ranks, layers)) == round(turns + copies)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 2), (2, 3), (3, 2), (1, 4), (4, 1)])
@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_summa_gives_the_product_on_any_grid_and_moves_what_its_formulas_say(rows, columns, m, k, n):
    a, b = whole(m, k), whole(k, n)
    report = simulate(by_summa, rows * columns, args=(rows, columns, a, b))
    assert torch.equal(joined(report.results, columns), a @ b)
    assert [sent // 8 for sent in report.trace.bytes_sent] == summa_elements_sent(m, k, n, rows, columns)
    received = summa_elements_received(m, k, n, rows, columns)
    assert [count // 8 for count in report.trace.bytes_received] == received


def test_real_processes_multiply():
    a, b = whole(5, 6), whole(6, 7)
    assert torch.equal(joined(run(by_summa, 4, args=(2, 2, a, b)).results, 2), a @ b)
    assert torch.equal(joined(run(by_cannon, 4, args=(2, a, b)).results, 2), a @ b)
    assert torch.equal(joined_layers(run(by_layers, 8, args=(2, a, b)).results, 2), a @ b)


@pytest.mark.parametrize(("inner", "rows", "columns"), [(6, 2, 3), (7, 3, 2), (2, 4, 3), (12, 1, 1)])
def test_panels_cover_the_inner_length_once_and_belong_to_one_row_and_one_column(inner, rows, columns):
    steps = panels(inner, rows, columns)
    assert (steps[0].start, steps[-1].stop) == (0, inner)
    assert all(before.stop == after.start for before, after in pairwise(steps))
    for start, stop, column, row in steps:
        for owner, parts in ((column, columns), (row, rows)):
            here = torch.arange(inner).tensor_split(parts)[owner]
            assert here[0] <= start < stop <= here[-1] + 1


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_strassen_is_exact_on_whole_numbers(levels):
    a, b = whole(16, 16), whole(16, 16).T.contiguous()
    assert torch.equal(strassen_product(a, b, levels), a @ b)


def test_strassen_multiplies_seven_times_where_the_usual_way_does_eight_times():
    assert strassen_operations(64, 2).multiplications == 49 * 16**3
    assert classical_operations(64).multiplications == 64 * 16**3


def test_strassen_takes_fewer_operations_from_a_side_of_16_on():
    better = [n for n in range(2, 65, 2) if strassen_operations(n).total < classical_operations(n).total]
    assert better == list(range(16, 65, 2))


def test_cannon_stays_above_the_lower_bound_for_the_memory_that_it_uses():
    n, p = 4096, 4096
    bound = min_elements_moved(n, p, memory_elements=3 * n * n / p)
    assert 0 < bound < max(cannon_elements_sent(n, n, n, p)) < 15 * bound


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="needs a square number of ranks, got 6"):
        cannon_elements_sent(4, 4, 4, world_size=6)
    for ranks, layers, why in (
        (8, 3, "not 3 equal layers"),
        (4, 4, "4 layers have only 1 step"),
        (6, 2, "square number"),
    ):
        with pytest.raises(ValueError, match=why):
            layered_elements_sent(4, 4, 4, ranks, layers)
    with pytest.raises(RankError, match="a grid of 2 × 2 needs 4 ranks, there are 3"):
        simulate(by_summa, 3, args=(2, 2, whole(4, 4), whole(4, 4)))
    with pytest.raises(ValueError, match=r"a side that 4 divides, got \(6, 6\) and \(6, 6\)"):
        strassen_product(whole(6, 6), whole(6, 6), levels=2)
