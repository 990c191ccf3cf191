"""FLOP counts of torch's operations, by one rule for all counters.

product         matrix products, convolutions, attention    2 for each multiplication with its addition
factorization   QR, SVD                                     by LAPACK's formulas
elementwise     all other arithmetic                        1 for each element of its largest tensor
move            copies, lookups, fills                      0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

LOOKUPS = frozenset({"embedding", "index", "index_select", "gather"})  # they read no more than they write
_SCATTERS = frozenset({"embedding_dense_backward", "index_put", "index_put_", "index_add", "scatter_add"})
_COPIES = frozenset({"clone", "copy_", "_to_copy", "cat", "stack", "repeat", "flip", "roll", "constant_pad_nd"})
_FILLS = frozenset({"fill_", "zero_", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros"})
_FILLS |= {"new_ones", "new_full", "arange", "scalar_tensor", "_local_scalar_dense", "lift_fresh", "eye"}
_MOVES = LOOKUPS | _COPIES | _FILLS
_ATTENTION = "_scaled_dot_product_flash_attention_for_cpu"


class Flops(NamedTuple):
    """How many floating-point operations, and of which kind."""

    kind: str
    number: int


def flops_of(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Flops:
    """The FLOPs of one operation, as a `TorchDispatchMode` sees it.

    Attention counts all pairs of query and key, masked or not, as PyTorch's own counter does.
    """
    name, inputs = name_of(function), tensors_in((args, kwargs))
    if function.overloadpacket in flop_registry:
        return Flops("product", flop_registry[function.overloadpacket](*args, **kwargs, out_val=result))
    if name in ("mv", "dot", "vdot", "addmv"):
        return Flops("product", 2 * inputs[-2].numel())
    if name.startswith(_ATTENTION):
        backward = name.endswith("backward")  # whose first argument is the output's gradient
        return Flops("product", _attention_flops(*inputs[backward : backward + 3], backward=backward))
    if name == "linalg_qr":  # Q is empty where only R is wanted
        shape = inputs[0].shape
        return Flops("factorization", qr_flops(*shape) if result[0].numel() else triangle_flops(*shape))
    if name == "_linalg_svd":
        return Flops("factorization", svd_flops(*inputs[0].shape))
    if name in _MOVES:
        return Flops("move", 0)
    if name in _SCATTERS:
        return Flops("elementwise", min(tensor.numel() for tensor in inputs if tensor.is_floating_point()))
    return Flops("elementwise", max((tensor.numel() for tensor in inputs + tensors_in(result)), default=0))


def qr_flops(rows: int, columns: int) -> int:
    """A thin QR by Householder's reflections, Q written out.

    Source: S. Blackford and J. Dongarra, "Installation guide for LAPACK", LAPACK Working Note 41, 1999: xGEQRF, xORGQR.
    """
    small = min(rows, columns)
    return triangle_flops(rows, columns) + 2 * small**2 * (3 * rows - small) // 3


def triangle_flops(rows: int, columns: int) -> int:
    """The R of a QR by Householder's reflections, without Q."""
    small, large = sorted((rows, columns))
    return 2 * small**2 * (3 * large - small) // 3


def svd_flops(rows: int, columns: int) -> int:
    """A thin SVD with both sides of vectors.

    Source: G. Golub and C. Van Loan, "Matrix Computations", section 8.6: 6mn² + 20n³ for m ≥ n.
    """
    small, large = sorted((rows, columns))
    return 6 * large * small**2 + 20 * small**3


def _attention_flops(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, backward: bool) -> int:
    """Queries times keys, and weights times values; backward makes the first again, and gradients of all four."""
    by_keys, by_values = (3, 2) if backward else (1, 1)
    pairs = prod(query.shape[:-1]) * key.shape[-2]
    return 2 * pairs * (by_keys * query.shape[-1] + by_values * value.shape[-1])


def name_of(function: Any) -> str:
    """An operation's name without its overload: "addmm"."""
    return function.overloadpacket.__name__


def tensors_in(tree: Any) -> list[torch.Tensor]:
    """The tensors among arguments or results."""
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
