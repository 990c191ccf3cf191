"""A scale for each block: what one outlier costs, and what becomes of a scale that must be a power of two."""

import pytest
import torch

from course_lib.precision import SCALE_RULES, in_fp8, in_fp8_blocks

RULES = list(SCALE_RULES)


def test_two_blocks_by_hand():
    small = in_fp8_blocks(torch.tensor([[448.0, 7.0, 900.0, 1.0]]), (1, 2))
    assert small.scale.tolist() == [[1, 1, 1 / 4, 1 / 4]]  # 900 / 448 is a little more than 2: the next power is 4
    assert small.widened().tolist() == [[448, 7, 896, 1]]  # 225 lies between 224 and 240


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 64), (0, 4), (130, 33)])
@pytest.mark.parametrize("block", [(1, 32), (2, 3), (128, 128), (1, 1)])
@pytest.mark.parametrize("rule", RULES)
def test_numbers_are_off_by_no_more_than_the_format_allows_where_nothing_is_cut_off(shape, block, rule):
    values = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    found = in_fp8_blocks(values, block, rule).widened()
    assert found.shape == values.shape
    if rule in ("fp32", "e8m0, up"):
        largest = values.abs().amax() if values.numel() else torch.tensor(0.0)
        assert ((found - values).abs() <= values.abs() / 16 + 2.0**-9 * largest / 224).all()


def test_the_scale_of_a_whole_matrix_is_that_of_the_tensor_but_for_the_power_of_two():
    values = torch.randn(8, 16, generator=torch.Generator().manual_seed(2))
    assert torch.equal(in_fp8_blocks(values, (8, 16), "e8m0, up").widened(), in_fp8(values).widened())


@pytest.mark.parametrize("rule", RULES[1:])
def test_mx_scales_are_numbers_of_torchs_own_e8m0(rule):
    values = torch.randn(64, 96, generator=torch.Generator().manual_seed(3)) * 1e-3
    divisor = 1 / in_fp8_blocks(values, (1, 32), rule).scale
    assert torch.equal(divisor.to(torch.float8_e8m0fnu).float(), divisor)


@pytest.mark.parametrize(
    ("rule", "worst"), [("e8m0, up", 1 / 16), ("e8m0, OCP", 1 / 8), ("e8m0, nearest", 1 - 2**-0.5)]
)
def test_what_a_blocks_largest_number_loses_at_worst(rule, worst):
    # MLX, pull request 4353: 29.27% to the nearest power of two, 5.84% rounded up.
    values = torch.linspace(1, 2, 4096)[:-1].reshape(-1, 1)
    lost = 1 - in_fp8_blocks(values, (1, 1), rule).widened() / values
    assert 0.9 * worst < lost.max() <= worst + 1e-6


def test_zeros_stay_zeros_and_what_is_no_matrix_is_refused():
    assert not in_fp8_blocks(torch.zeros(4, 8), (1, 4)).widened().any()
    with pytest.raises(ValueError, match=r"got 1 dimensions, blocks of \(1, 4\)"):
        in_fp8_blocks(torch.zeros(8), (1, 4))
    with pytest.raises(ValueError, match="rule 'down'"):
        in_fp8_blocks(torch.zeros(4, 8), (1, 4), "down")
