"""Fewer bits: what comes back, what it costs, and that random levels are right on average."""

import pytest
import torch

from course_lib.compression import QSGD, CountSketch, Int8, OneBit, TopK, pack, pack_bits, unpack, unpack_bits


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 1000])
def test_bits_come_back(length: int) -> None:
    bits = torch.rand(length, generator=torch.Generator().manual_seed(length)) < 0.5
    assert torch.equal(unpack_bits(pack_bits(bits), length), bits)
    assert len(pack_bits(bits)) == -(-length // 8)


def test_parts_of_any_dtype_come_back() -> None:
    parts = torch.arange(3, dtype=torch.int8), torch.tensor([1.5]), torch.arange(2)
    kinds = [(part.dtype, len(part)) for part in parts]
    assert all(torch.equal(a, b) for a, b in zip(unpack(pack(*parts), *kinds), parts, strict=True))


def test_one_bit_is_a_thirty_second_of_fp32_but_for_two_means() -> None:
    assert OneBit().compress(torch.randn(32_000)).nbytes == 32_000 * 4 / 32 + 8


def test_one_bit_keeps_the_sum() -> None:
    row = torch.tensor([1.0, 2.0, -4.0, 6.0, -2.0])
    assert OneBit().decompress(OneBit().compress(row), 5).tolist() == [3.0, 3.0, -3.0, 3.0, -3.0]
    all_positive = torch.tensor([1.0, 3.0])
    assert OneBit().decompress(OneBit().compress(all_positive), 2).tolist() == [2.0, 2.0]


def test_int8_errs_by_half_a_step_at_most() -> None:
    row = torch.randn(999, generator=torch.Generator().manual_seed(0))
    back = Int8().decompress(Int8().compress(row), 999)
    assert (back - row).abs().max() <= row.abs().max() / 127 / 2 * (1 + 1e-5)
    assert Int8().decompress(Int8().compress(torch.zeros(4)), 4).tolist() == [0.0] * 4


@pytest.mark.parametrize("levels", [1, 4, 127])
def test_qsgd_is_right_on_average_and_varies_no_more_than_its_bound(levels: int) -> None:
    row = torch.tensor([3.0, -4.0, 0.0, 12.0])  # norm 13
    compressor, draws = QSGD(levels), 4000
    back = torch.stack([compressor.decompress(compressor.compress(row), 4) for _ in range(draws)])
    deviation = 13 / levels / 2  # of one draw, at most
    assert ((back.mean(0) - row).abs() <= 5 * deviation / draws**0.5).all()
    variance = (back - row).square().sum(1).mean().item()
    assert variance <= min(4 / levels**2, 2 / levels) * 13**2
    assert (back[:, 2] == 0).all()


def test_qsgd_of_a_number_on_a_level_is_exact() -> None:
    row = torch.tensor([3.0, 4.0])
    assert QSGD(5).decompress(QSGD(5).compress(row), 2).tolist() == pytest.approx([3.0, 4.0])


def test_the_sketch_of_a_sum_is_the_sum_of_the_sketches() -> None:
    sketch = CountSketch(100, rows=3, columns=7)
    one, two = (torch.randint(-9, 9, (100,), generator=torch.Generator().manual_seed(s)).float() for s in (1, 2))
    assert torch.equal(sketch.table(one) + sketch.table(two), sketch.table(one + two))


def test_each_table_of_a_sketch_is_unbiased() -> None:
    row = torch.arange(1.0, 31.0)
    estimates = [CountSketch(30, 1, 8, seed=seed) for seed in range(3000)]
    mean = torch.stack([sketch.estimates(sketch.table(row)) for sketch in estimates]).mean(0)
    deviation = (row.square().sum() / 8).sqrt()
    assert ((mean - row).abs() <= 5 * deviation / 3000**0.5).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TopK(0), "got 0"),
        (lambda: TopK(1.5), "got 1.5"),
        (lambda: QSGD(128), "got 128"),
        (lambda: CountSketch(10, 0, 5), "got 10, 0 and 5"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_number_that_is_none_spoils_the_mean_of_its_sign_alone() -> None:
    row = torch.tensor([1.0, torch.nan, -2.0, -4.0])
    found = OneBit().decompress(OneBit().compress(row), 4)
    assert torch.equal(found.isnan(), torch.tensor([True, True, False, False]))
    assert found[2:].tolist() == [-3, -3]
