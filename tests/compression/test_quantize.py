"""Fewer bits: what comes back, and what it costs."""

import pytest
import torch

from course_lib.compression import OneBit, TopK, pack, pack_bits, unpack, unpack_bits


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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TopK(0), "got 0"),
        (lambda: TopK(1.5), "got 1.5"),
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
