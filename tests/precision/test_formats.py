"""Formats by hand, and against torch over every number of 16 and 8 bits."""

import math

import pytest
import torch

from course_lib.precision import BF16, E4M3, E5M2, FORMATS, FP16, FP32, TF32, FloatFormat

TORCH = {FP16: torch.float16, BF16: torch.bfloat16, E4M3: torch.float8_e4m3fn, E5M2: torch.float8_e5m2}
SMALL = list(TORCH)


def torch_bits(values: torch.Tensor, number_format: FloatFormat) -> torch.Tensor:
    container = {8: torch.uint8, 16: torch.int16, 32: torch.int32}[number_format.bits]
    return values.view(container).long() % 2**number_format.bits


def torch_values(number_format: FloatFormat) -> torch.Tensor:
    """Every number of the format, as torch reads its bits."""
    container = torch.uint8 if number_format.bits == 8 else torch.uint16
    return torch.arange(2**number_format.bits).to(container).view(TORCH[number_format])


def same(ours: torch.Tensor, theirs: torch.Tensor) -> bool:
    return torch.equal(ours.nan_to_num(12345.0), theirs.double().nan_to_num(12345.0)) and torch.equal(
        ours.isnan(), theirs.double().isnan()
    )


def test_four_bits_by_hand():
    tiny = FloatFormat("tiny", exponent_bits=2, mantissa_bits=1)
    assert tiny.decode(torch.arange(6)).tolist() == [0, 0.5, 1, 1.5, 2, 3]
    assert tiny.decode(6).item() == math.inf
    assert tiny.decode(7).isnan()
    assert tiny.decode(torch.arange(8, 14)).tolist() == [-0.0, -0.5, -1, -1.5, -2, -3]
    # Halfway: 0.25 to 0, 0.75 to 1, 1.25 to 1, 1.75 to 2, 2.5 to 2, and 3.5 to what would be 4.
    halves = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 3.49])
    assert tiny.round(halves).tolist() == [0, 1, 1, 2, 2, math.inf, 3]


@pytest.mark.parametrize("number_format", SMALL, ids=lambda f: f.name)
def test_every_code_means_what_torch_reads(number_format):
    codes = torch.arange(2**number_format.bits)
    assert same(number_format.decode(codes), torch_values(number_format))


@pytest.mark.parametrize("number_format", SMALL, ids=lambda f: f.name)
def test_every_number_gives_its_own_code_back(number_format):
    values = torch_values(number_format).double()
    known = ~values.isnan()
    codes = torch.arange(2**number_format.bits)
    assert torch.equal(number_format.encode(values)[known], codes[known])
    assert number_format.decode(number_format.encode(values))[~known].isnan().all()


@pytest.mark.parametrize("number_format", SMALL, ids=lambda f: f.name)
def test_rounding_is_torchs_at_every_number_between_any_two_and_right_beside_the_middle(number_format):
    values = number_format.decode(torch.arange(number_format.largest_code + 1))
    middles = (values[1:] + values[:-1]) / 2
    tried = torch.cat([values, middles]).float()
    up, down = (torch.nextafter(tried, torch.tensor(end)) for end in (math.inf, -math.inf))
    tried = torch.cat([tried, up, down, -tried, -up, -down])
    tried = tried[tried.abs() <= number_format.largest]
    assert same(number_format.round(tried), tried.to(TORCH[number_format]))


@pytest.mark.parametrize("number_format", [FP16, BF16, E5M2], ids=lambda f: f.name)
def test_what_is_too_large_is_infinite_from_halfway_on(number_format):
    largest = number_format.largest
    edge = largest + number_format.spacing(largest).item() / 2
    below = torch.nextafter(torch.tensor(edge), torch.tensor(0.0))
    assert number_format.round(torch.tensor([edge, -edge, math.inf])).tolist() == [math.inf, -math.inf, math.inf]
    assert number_format.round(below).item() == largest == below.to(TORCH[number_format]).item()
    assert torch.tensor(edge).to(TORCH[number_format]).isinf()


def test_without_infinities_the_largest_number_stands_for_all_above():
    assert E4M3.round(torch.tensor([449.0, 465.0, 1e9, math.inf, -1e9])).tolist() == [448, 448, 448, 448, -448]
    assert E4M3.round(math.nan).isnan()


def test_fp32_is_torchs_at_random_codes_and_tf32_keeps_ten_bits_of_it():
    codes = torch.randint(2**32, (20_000,), generator=torch.Generator().manual_seed(0))
    theirs = codes.to(torch.uint32).view(torch.float32)
    assert same(FP32.decode(codes), theirs)
    known = ~theirs.isnan()
    assert torch.equal(FP32.encode(theirs)[known], codes[known])
    assert torch.equal(TF32.decode(codes[known] >> 13), FP32.decode(codes[known] >> 13 << 13))


@pytest.mark.parametrize("number_format", SMALL, ids=lambda f: f.name)
def test_the_range_is_that_of_torch(number_format):
    info = torch.finfo(TORCH[number_format])
    assert number_format.largest == info.max
    assert number_format.smallest_normal == info.smallest_normal
    assert number_format.epsilon == info.eps
    assert number_format.decode(1).item() == number_format.smallest_subnormal


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
def test_the_spacing_is_the_way_to_the_next_number(number_format):
    step = max(1, number_format.largest_code // 5000)
    codes = torch.arange(0, number_format.largest_code, step)
    values, following = number_format.decode(codes), number_format.decode(codes + 1)
    assert torch.equal(number_format.spacing(values), following - values)


def test_a_code_with_too_many_bits_is_refused():
    with pytest.raises(ValueError, match="fp16 has 16 bits, got codes from 65536 to 65536"):
        FP16.decode(65536)
