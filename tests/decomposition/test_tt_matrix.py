"""TT-matrices and the layer made of them: the matrix's own product, without the matrix."""

from math import prod

import pytest
import torch
from torch import nn

from course_lib.decomposition import (
    TTLinear,
    TTMatrix,
    count,
    tt_matrix_numbers,
    tt_matrix_svd,
    tt_product,
    tt_product_flops,
    tt_product_states,
)

from .trains import drawn, whole

FC6_INPUTS, FC6_OUTPUTS = (2, 7, 8, 8, 7, 4), (4, 4, 4, 4, 4, 4)  # VGG-16's first fully connected layer
MODES = [((5,), (3,)), ((2, 3), (5, 4)), ((4, 1, 3), (1, 5, 2)), ((3, 2, 5), (2, 7, 3)), ((2, 3, 1, 4), (3, 2, 5, 1))]


def matrix(row_modes, column_modes, rank, make=whole) -> TTMatrix:
    ranks = [1, *[rank] * (len(row_modes) - 1), 1]
    sizes = zip(ranks, row_modes, column_modes, ranks[1:], strict=False)
    return TTMatrix(tuple(make(*size, seed=k) for k, size in enumerate(sizes)))


def test_a_kronecker_product_has_ranks_of_one_by_hand():
    a, b = whole(2, 3), whole(5, 4, seed=1)
    made = TTMatrix((a[None, :, :, None], b[None, :, :, None]))
    assert torch.equal(made.full(), torch.kron(a, b))
    assert tt_matrix_svd(torch.kron(a, b), (2, 5), (3, 4)).ranks == (1, 1, 1)


@pytest.mark.parametrize(("row_modes", "column_modes"), MODES)
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("batch", [0, 1, 6])
def test_the_product_is_that_of_the_whole_matrix_and_takes_what_the_formula_says(row_modes, column_modes, rank, batch):
    w = matrix(row_modes, column_modes, rank)
    x = whole(batch, prod(column_modes), seed=3)
    counts = count(tt_product, w.cores, x)
    assert torch.equal(counts.result, x @ w.full().T)
    assert counts.flops == tt_product_flops(row_modes, column_modes, w.ranks, batch)


@pytest.mark.parametrize(("row_modes", "column_modes"), MODES)
def test_entries_are_products_of_the_cores_at_the_digits_of_row_and_column(row_modes, column_modes):
    w = matrix(row_modes, column_modes, 2)
    for row in range(prod(row_modes)):
        for column in range(prod(column_modes)):
            value, i, j = torch.ones(1, 1, dtype=torch.float64), row, column
            for core in reversed(w.cores):  # the last digit first
                i, row_digit = divmod(i, core.shape[1])
                j, column_digit = divmod(j, core.shape[2])
                value = core[:, row_digit, column_digit] @ value
            assert w.full()[row, column] == value


@pytest.mark.parametrize(("row_modes", "column_modes"), MODES)
@pytest.mark.parametrize("relative_error", [0.0, 0.1, 0.6])
def test_a_matrix_comes_back_within_the_error(row_modes, column_modes, relative_error):
    dense = drawn(prod(row_modes), prod(column_modes))
    found = tt_matrix_svd(dense, row_modes, column_modes, relative_error)
    assert (found.row_modes, found.column_modes) == (row_modes, column_modes)
    assert (dense - found.full()).norm() <= (relative_error + 1e-14) * dense.norm()


def test_novikovs_layer_has_528_numbers_for_one_hundred_million():
    layer = TTLinear(FC6_INPUTS, FC6_OUTPUTS, ranks=2, bias=False)
    assert sum(p.numel() for p in layer.parameters()) == tt_matrix_numbers(FC6_INPUTS, FC6_OUTPUTS, rank=2) == 528
    assert round(25088 * 4096 / 528) == round(layer.matrix.compression) == 194_622


@pytest.mark.parametrize(("output_modes", "input_modes"), MODES)
@pytest.mark.parametrize("sides", [(0,), (4,), (2, 3)])
def test_a_layer_and_its_gradients_are_those_of_the_matrix(output_modes, input_modes, sides):
    layer = TTLinear(input_modes, output_modes, ranks=2).double()
    torch.nn.init.normal_(layer.bias)
    x = drawn(*sides, prod(input_modes)).requires_grad_()
    y_grad = drawn(*sides, prod(output_modes), seed=1)
    gradients = []
    for y in (layer(x), nn.functional.linear(x, layer.matrix.full(), layer.bias)):
        gradients.append((y, *torch.autograd.grad(y, [x, *layer.parameters()], y_grad)))
    for ours, dense in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, dense)


def test_gradients_are_those_of_small_differences():
    layer = TTLinear((2, 3, 2), (3, 1, 4), ranks=(2, 3)).double()
    torch.autograd.gradcheck(layer, drawn(2, 12).requires_grad_())


@pytest.mark.parametrize(("output_modes", "input_modes"), MODES)
def test_a_trained_layer_is_taken_over_with_its_bias(output_modes, input_modes):
    linear = nn.Linear(prod(input_modes), prod(output_modes)).double()
    layer = TTLinear.from_linear(linear, input_modes, output_modes)
    x = drawn(7, linear.in_features)
    torch.testing.assert_close(layer(x), linear(x))
    assert TTLinear.from_linear(linear, input_modes, output_modes, largest_rank=1).matrix.train.ranks == (
        *[1] * (len(input_modes) + 1),
    )
    before = linear.weight.detach().clone()
    layer(x).sum().backward()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.sub_(parameter.grad)
    assert torch.equal(linear.weight, before)


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("ranks", [1, 2, 6])
def test_neither_pass_makes_anything_as_large_as_the_matrix(batch, ranks):
    layer = TTLinear(FC6_INPUTS, FC6_OUTPUTS, ranks)
    x = torch.randn(batch, 25088)
    states = tt_product_states(FC6_OUTPUTS, FC6_INPUTS, layer.matrix.ranks, batch)
    counts = count(lambda: layer(x).sum().backward())
    assert counts.largest_bytes == 4 * max(states) < 25088 * 4096 * 4
    assert counts.peak_bytes < 4 * (sum(states) + 2 * max(states) + 2 * layer.matrix.numbers)
    assert counts.flops < 3 * tt_product_flops(FC6_OUTPUTS, FC6_INPUTS, layer.matrix.ranks, batch) + x.numel()


def test_forward_keeps_the_states_between_the_cores_and_nothing_else_that_grows_with_the_batch():
    layer, sizes = TTLinear((4, 3, 5), (2, 5, 3), ranks=(3, 2)), []
    x = torch.randn(11, 60)

    def note(tensor):
        sizes.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        layer(x)
    states = tt_product_states((2, 5, 3), (4, 3, 5), (1, 3, 2, 1), batch=11)
    assert sum(sizes) == sum(states[:-1]) + layer.matrix.numbers - layer.cores[0].numel()  # x asks for no gradient


def test_the_first_weights_vary_as_those_of_a_dense_layer():
    torch.manual_seed(0)
    for ranks in (1, 4):
        drawn_layers = [TTLinear((4, 5, 6), (6, 2, 5), ranks).matrix.full() for _ in range(60)]
        spread = torch.stack(drawn_layers).detach().square().mean()
        assert spread * 3 * 120 == pytest.approx(1, rel=0.35)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tt_matrix_svd(drawn(6, 8), (2, 3), (4, 3)), r"\(6, 8\).*got \(2, 3\) and \(4, 3\)"),
        (lambda: tt_matrix_svd(drawn(6, 8), (2, 3), (8,)), r"got \(2, 3\) and \(8,\)"),
        (lambda: TTLinear((2, 3), (4,), 2), r"got \(2, 3\) and \(4,\)"),
        (lambda: TTMatrix((torch.ones(1, 2, 1),)), r"got shapes \[\(1, 2, 1\)\]"),
    ],
)
def test_modes_that_do_not_fit_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
