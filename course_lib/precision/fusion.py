"""Many small operators against a fused one: the same arithmetic in nine passes over memory, or in one pass.

operators   x → x·x → ·x → ·c → …     every arrow writes the whole array and reads it again
fused       one kernel: an element goes through all nine in registers
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable

import torch
from torch.nn import functional

__all__ = ["compiled", "gelu_as_one", "gelu_in_place", "gelu_of_operators", "why_not_compiled"]

_SCALE = math.sqrt(2 / math.pi)


def gelu_of_operators(x: torch.Tensor) -> torch.Tensor:
    """The activation of GPT-2, x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))), as nine operators, each over the whole array.

    Source: D. Hendrycks and K. Gimpel, "Gaussian error linear units", arXiv 1606.08415, 2016.
    """
    inner = _SCALE * (x + 0.044715 * (x * x * x))
    return 0.5 * x * (1 + inner.tanh())


def gelu_in_place(x: torch.Tensor, inner: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """The same nine operators; they write into two arrays that are there, so none asks the system for memory."""
    torch.mul(x, x, out=inner).mul_(x).mul_(0.044715).add_(x).mul_(_SCALE).tanh_().add_(1)
    return torch.mul(x, 0.5, out=result).mul_(inner)


def gelu_as_one(x: torch.Tensor) -> torch.Tensor:
    """The same as one kernel, which somebody wrote for PyTorch by hand."""
    return functional.gelu(x, approximate="tanh")


def compiled(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The function as `torch.compile` fuses it; the compiler runs at its first call.

    Raises:
        RuntimeError: where there is no C++ compiler.
    """
    if reason := why_not_compiled():
        raise RuntimeError(reason)
    # Inductor believes what the processor says of itself: to try each set of instructions takes longer than our kernel.
    return torch.compile(function, dynamic=False, options={"cpp.vec_isa_ok": True})


def why_not_compiled() -> str:
    """Why `torch.compile` can make nothing for the CPU here, "" where it can."""
    compilers = [os.environ["CXX"]] if "CXX" in os.environ else ["g++", "clang++"]
    if any(map(shutil.which, compilers)):
        return ""
    return f"torch.compile needs a C++ compiler on the CPU, and there is no {' and no '.join(compilers)} here"
