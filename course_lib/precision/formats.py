"""Floating-point numbers from their definition: a sign, an exponent and a mantissa, in few bits.

    sign │ exponent │ mantissa          value
    s    │ 0        │ m                 ± m · 2^(1 - bias - mantissa_bits)                    subnormal, and zero
    s    │ e        │ m                 ± (2^mantissa_bits + m) · 2^(e - bias - mantissa_bits)
    s    │ all ones │ 0, m              ± infinity, not a number                             where there are infinities

So numbers without their sign stand in the order of their bits: the next code is the next larger number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn


@dataclass(frozen=True)
class FloatFormat:
    """How many bits a number has and what they mean.

    Args:
        infinities: the largest exponent stands for infinity and for what is not a number (IEEE 754). Without them only
            the code of all ones is not a number, and what is too large becomes the largest number.

    Sources: IEEE 754-2019; OCP 8-bit floating point specification (OFP8), 2023, for e4m3 and e5m2.

    >>> FP16.fields(FP16.encode(-1.5)), FP16.decode(0b1_01111_1000000000).item()
    ((tensor(1), tensor(15), tensor(512)), -1.5)
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    infinities: bool = True

    @property
    def bits(self) -> int:
        """Bits of a number, with its sign."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self) -> int:
        """What is taken off the exponent's bits.

        >>> FP16.bias, BF16.bias
        (15, 127)
        """
        return 2 ** (self.exponent_bits - 1) - 1

    @property
    def largest_code(self) -> int:
        """The bits of the largest number: all ones less one is infinity's neighbor, or e4m3's largest."""
        return (2**self.exponent_bits - 1) * 2**self.mantissa_bits - 1 if self.infinities else self._sign - 2

    @property
    def largest(self) -> float:
        """The largest number.

        >>> FP16.largest, E4M3.largest, E5M2.largest
        (65504.0, 448.0, 57344.0)
        """
        return self.decode(self.largest_code).item()

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number with all bits of its mantissa: 2^(1 - bias)."""
        return 2.0 ** (1 - self.bias)

    @property
    def smallest_subnormal(self) -> float:
        """The smallest positive number, and the spacing below `smallest_normal`.

        >>> FP16.smallest_subnormal == 2**-24
        True
        """
        return self.smallest_normal * 2.0**-self.mantissa_bits

    @property
    def epsilon(self) -> float:
        """The spacing just above 1; rounding to the nearest misses by at most half of it, relatively.

        >>> FP16.epsilon == 2**-10, BF16.epsilon == 2**-7
        (True, True)
        """
        return 2.0**-self.mantissa_bits

    def fields(self, bits: torch.Tensor | int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Sign (0 or 1), exponent with its bias, and mantissa, as the bits say them."""
        bits = torch.as_tensor(bits, dtype=torch.int64)
        mantissa = bits % 2**self.mantissa_bits
        return bits // self._sign, bits % self._sign // 2**self.mantissa_bits, mantissa

    def decode(self, bits: torch.Tensor | int) -> torch.Tensor:  # int -> float64
        """The numbers that these bits stand for, exactly.

        Raises:
            ValueError: if a code has more bits than the format.
        """
        bits = torch.as_tensor(bits, dtype=torch.int64)
        if bits.numel() and not 0 <= int(bits.min()) <= int(bits.max()) < 2**self.bits:
            raise ValueError(f"{self.name} has {self.bits} bits, got codes from {bits.min()} to {bits.max()}")
        sign, exponent, mantissa = self.fields(bits)
        whole = mantissa + 2**self.mantissa_bits * (exponent > 0)
        power = exponent.clamp(min=1) - self.bias - self.mantissa_bits
        value = whole * 2.0 ** power.double()
        code = bits % self._sign
        value[code > self.largest_code] = torch.nan
        if self.infinities:
            value[code == self.largest_code + 1] = torch.inf
        return torch.where(sign == 1, -value, value)

    def encode(self, values: torch.Tensor | float) -> torch.Tensor:  # float -> int64
        """The bits of the nearest numbers; of two equally near ones, that whose last bit is 0.

        From the largest number on, halfway to where the next would be, infinity is nearest.
        """
        values = torch.as_tensor(values, dtype=torch.float64)
        magnitude = values.abs()
        count = (magnitude / self.spacing(values)).round()  # torch rounds halves to even
        # A normal number counts 2^mantissa_bits spacings more than its mantissa says, which raises its exponent by one;
        # a mantissa that is rounded up to the next power of two does so once more.
        code = (self._exponent(values) + self.bias - 1) * 2**self.mantissa_bits + count.nan_to_num(0, 0).long()
        code = code.clamp(max=self.largest_code + self.infinities)
        code[magnitude.isinf()] = self.largest_code + self.infinities
        code[magnitude.isnan()] = self._sign - 1
        return code + values.signbit() * self._sign

    def round(self, values: torch.Tensor | float) -> torch.Tensor:  # float -> float64
        """The nearest numbers of this format.

        >>> FP16.round(1 + 2**-11).item(), BF16.round(257.0).item(), FP16.round(65520.0).item()
        (1.0, 256.0, inf)
        """
        return self.decode(self.encode(values))

    def spacing(self, values: torch.Tensor | float) -> torch.Tensor:  # float -> float64
        """How far apart the format's numbers are at these values, on the side away from zero.

        >>> FP16.spacing(torch.tensor([0.0, 1.0, 1.99, 2048.0])).tolist() == [2**-24, 2**-10, 2**-10, 2.0]
        True
        """
        return 2.0 ** (self._exponent(values) - self.mantissa_bits).double()

    def _exponent(self, values: torch.Tensor | float) -> torch.Tensor:
        """The exponent without its bias; that of the smallest normal number for all below it, and for no number."""
        finite = torch.as_tensor(values, dtype=torch.float64).nan_to_num(0, 0, 0)
        return (torch.frexp(finite).exponent - 1).masked_fill(finite == 0, 1 - self.bias).clamp(min=1 - self.bias)

    @property
    def _sign(self) -> int:
        """The sign's bit."""
        return 2 ** (self.bits - 1)


FP32 = FloatFormat("fp32", exponent_bits=8, mantissa_bits=23)
TF32 = FloatFormat("tf32", exponent_bits=8, mantissa_bits=10)  # what tensor cores read of an fp32; stored in 32 bits
FP16 = FloatFormat("fp16", exponent_bits=5, mantissa_bits=10)
BF16 = FloatFormat("bf16", exponent_bits=8, mantissa_bits=7)
E4M3 = FloatFormat("fp8 e4m3", exponent_bits=4, mantissa_bits=3, infinities=False)
E5M2 = FloatFormat("fp8 e5m2", exponent_bits=5, mantissa_bits=2)
FORMATS = (FP32, TF32, FP16, BF16, E4M3, E5M2)


def round_stochastic(values: torch.Tensor, number_format: FloatFormat, draws: torch.Tensor) -> torch.Tensor:
    """Each value as one of its two neighbors in the format, the nearer the likelier; float64.

    A value that lies a share p of the way from one number to the next, away from zero, becomes the next one for the p
    of all draws that are at least 1 - p. So the mean over all draws is the value itself.

    Args:
        draws: numbers from 0 to 1, 1 excluded, evenly distributed, one for each value.

    Source: S. Gupta et al., "Deep learning with limited numerical precision", ICML 2015, section 3.

    >>> from course_lib.precision import BF16
    >>> round_stochastic(torch.full((4,), 257.5), BF16, torch.tensor([0, 0.25, 0.5, 0.75])).tolist()
    [256.0, 258.0, 258.0, 258.0]
    """
    spacing = number_format.spacing(values)
    count = (values.double().abs() / spacing + draws).floor()
    return number_format.round(torch.copysign(count * spacing, values.double()))


class Fates(NamedTuple):
    """Shares of a set of numbers, which add up to 1, by what the format makes of them."""

    zero: float  # zero from the start
    lost: float  # too small: rounded to 0
    subnormal: float  # kept, with fewer bits
    normal: float
    overflow: float  # too large, or no number from the start


def fates(values: torch.Tensor, number_format: FloatFormat, scale: float = 1.0) -> Fates:
    """What becomes of the values, multiplied by `scale`, in the format.

    Raises:
        ValueError: if there is no value.

    >>> from course_lib.precision import FP16
    >>> fates(torch.tensor([0, 1e-9, 1e-6, 1e5]), FP16)
    Fates(zero=0.25, lost=0.25, subnormal=0.25, normal=0.0, overflow=0.25)
    >>> fates(torch.tensor([0, 1e-9, 1e-6, 1e5]), FP16, scale=2**-4).overflow
    0.0
    """
    if not values.numel():
        raise ValueError("there must be a value to say what becomes of it, got an empty tensor")
    scaled = values.double().flatten() * scale
    magnitude = scaled.abs()
    rounded = number_format.round(scaled).abs()
    zero, lost = magnitude == 0, (rounded == 0) & (magnitude > 0)
    overflow = ~(magnitude < number_format.largest + number_format.spacing(number_format.largest).item() / 2)
    subnormal = (rounded > 0) & (rounded < number_format.smallest_normal)
    normal = ~(zero | lost | subnormal | overflow)
    return Fates(*(kind.double().mean().item() for kind in (zero, lost, subnormal, normal, overflow)))


def exponent_counts(values: torch.Tensor) -> dict[int, int]:
    """How many values lie between 2^e and 2^(e+1), by e; zeros and what is no finite number are left out.

    >>> exponent_counts(torch.tensor([0.0, 1.0, -1.5, 2.0, 0.25]))
    {-2: 1, 0: 2, 1: 1}
    """
    counted = values.double()[values.isfinite() & (values != 0)]
    return dict(sorted(Counter((torch.frexp(counted).exponent - 1).tolist()).items()))


def activation_gradients(model: nn.Module, loss_of: Callable[[], torch.Tensor]) -> torch.Tensor:
    """The gradients of what every layer without layers of its own gives, in one row."""
    found: list[torch.Tensor] = []

    def watch(module: nn.Module, inputs: object, output: torch.Tensor) -> None:
        output.register_hook(lambda gradient: found.append(gradient.detach().flatten()))

    layers = [module for module in model.modules() if not list(module.children())]
    handles = [layer.register_forward_hook(watch) for layer in layers]
    try:
        loss_of().backward()
    finally:
        for handle in handles:
            handle.remove()
    model.zero_grad()
    return torch.cat(found)
