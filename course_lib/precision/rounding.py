"""Stochastic rounding: up or down by chance, so that on average nothing is lost."""

from __future__ import annotations

import torch

from course_lib.precision.formats import FloatFormat

__all__ = ["round_stochastic"]


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
