"""Where asynchrony diverges: the largest rate at which old gradients still lead downhill."""

from __future__ import annotations

import math

import torch

from course_lib.tasks import load_digits

__all__ = ["largest_curvature", "largest_stable_rate"]


def largest_stable_rate(curvature: float, staleness: int) -> float:
    """The rate at which gradient descent on a bowl stops to converge when every gradient is `staleness` updates old.

    x(t + 1) = x(t) - rate × curvature × x(t - τ) goes to 0 while 0 < rate × curvature < 2 sin(π / (4τ + 2)). Fresh
    gradients bear 2 / curvature, gradients that are τ old about π / 2τ as much.

    Source: S. Levin and R. May, "A note on difference-delay equations", Theoretical Population Biology 9(2), 1976.

    >>> [round(largest_stable_rate(1.0, staleness), 3) for staleness in (0, 1, 7)]
    [2.0, 1.0, 0.209]
    """
    if curvature <= 0 or staleness < 0:
        raise ValueError(f"curvature must be positive and staleness 0 or more, got {curvature} and {staleness}")
    return 2 * math.sin(math.pi / (4 * staleness + 2)) / curvature


def largest_curvature() -> float:
    """The largest curvature of the squared loss on the training digits: that of its steepest direction.

    It is the largest eigenvalue of the inputs' second moments, the bias's constant input among them.
    """
    inputs = load_digits().train_inputs
    with_bias = torch.cat([inputs, torch.ones(len(inputs), 1)], dim=1).double()
    return float(torch.linalg.eigvalsh(with_bias.T @ with_bias / len(inputs))[-1])
