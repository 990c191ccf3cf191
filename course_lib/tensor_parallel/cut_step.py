"""A step of a GPT, cut by cut: what each tensor-parallel GPU holds, sends and computes.

A block keeps 34 bytes for each token and each number of its width: 16 of hidden numbers, 8 of heads, and 10 outside of
both, which every GPU has until the sequence is cut.

Source: Korthikanti et al., "Reducing activation recomputation in large transformer models", arXiv 2205.05198, section
4, here without the scores of attention, which fused attention does not keep; Narayanan et al., "Efficient large-scale
language model training on GPU clusters", arXiv 2104.04473, appendix, for the operations.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn

__all__ = ["CUTS", "CutStep", "kept_numbers"]

# What is cut so far; each goes on from the one before.
CUTS = ("nothing", "MLPs", "heads", "vocabulary", "sequence", "gathered again")
STATE_BYTES = 16  # of a parameter: mixed precision with Adam (Rajbhandari et al., arXiv 1910.02054, section 3.1)
LOGIT_BYTES = 4  # the loss is computed in fp32
# Bytes of activations for each token and number of the width.
_HIDDEN = 16
_HEADS = 8
_BETWEEN = 10
_GATHERED = 4  # of the ten: what attention and `up` are given


class CutStep(NamedTuple):
    """A step on `sequences` of `sequence` tokens; by default of Megatron-LM's largest GPT, with nothing cut.

    Attributes:
        ranks: tensor-parallel GPUs. cut: one of CUTS; everything up to it is cut over the ranks, the rest is whole on
            each of them.
    """

    layers: int = 72
    hidden: int = 3072
    vocabulary: int = 51_200
    sequence: int = 1024
    sequences: int = 8
    ranks: int = 8
    cut: str = CUTS[0]

    @property
    def tokens(self) -> int:
        """Of all sequences."""
        return self.sequences * self.sequence

    def over(self, cut: str) -> int:
        """Among how many ranks this is divided: all, or one if it is not cut yet.

        >>> CutStep(cut="heads").over("MLPs"), CutStep(cut="heads").over("vocabulary")
        (8, 1)
        """
        return self.ranks if CUTS.index(cut) <= CUTS.index(self.cut) else 1

    @property
    def parameters(self) -> float:
        """That a GPU holds: its parts, and norms, positions and late biases whole."""
        h, layers = self.hidden, self.layers
        mlps = layers * ((8 * h**2 + 4 * h) / self.over("MLPs") + h)
        attention = layers * ((4 * h**2 + 3 * h) / self.over("heads") + h)
        words = self.vocabulary * h / self.over("vocabulary")
        return mlps + attention + words + self.sequence * h + 4 * h * layers + 2 * h

    @property
    def held_bytes(self) -> dict[str, float]:
        """What a GPU holds at the end of its forward pass.

        >>> [f"{each / 1e9:.1f}" for each in CutStep().held_bytes.values()]
        ['133.1', '61.6', '1.7']
        >>> round(sum(CutStep(cut="gathered again").held_bytes.values()) / 1e9, 1)
        24.6
        """
        again = self.over("gathered again") > 1
        gathered = 0.0 if again else _GATHERED * (1 - 1 / self.over("sequence"))
        kept = _HIDDEN / self.over("MLPs") + _HEADS / self.over("heads") + _BETWEEN / self.over("sequence") + gathered
        return {
            "states": STATE_BYTES * self.parameters,
            "activations": kept * self.tokens * self.hidden * self.layers,
            "logits": LOGIT_BYTES * self.tokens * self.vocabulary / self.over("vocabulary"),
        }

    @property
    def all_reduces(self) -> float:
        """Of activations in a block, forward and backward; a gather or a scatter is half of one."""
        whole = 2 * (self.over("MLPs") > 1) + 2 * (self.over("heads") > 1)
        return whole * 5 / 4 if self.over("gathered again") > 1 else whole

    @property
    def sent_bytes(self) -> float:
        """That a GPU sends in its blocks, on rings, 2 bytes a number; without the few numbers of the vocabulary."""
        message_bytes = 2 * self.tokens * self.hidden
        return self.all_reduces * self.layers * 2 * (self.ranks - 1) / self.ranks * message_bytes

    @property
    def flops(self) -> float:
        """Operations of a GPU, forward and backward; what is not cut is computed by each of them.

        >>> f"{CutStep(cut='vocabulary').flops / 39e12:.2f} s"
        '1.38 s'
        """
        h, layers = self.hidden, self.layers
        mlps = 48 * layers * h**2 / self.over("MLPs")
        attention = (24 * layers * h**2 + 12 * layers * h * self.sequence) / self.over("heads")
        return self.tokens * (mlps + attention + 6 * h * self.vocabulary / self.over("vocabulary"))


def kept_numbers(module: nn.Module, x: torch.Tensor) -> int:
    """How many numbers a module keeps of one forward pass for its backward pass, beside its parameters.

    >>> kept_numbers(nn.Sequential(nn.Linear(3, 5), nn.GELU()), torch.ones(2, 3, requires_grad=True))
    16
    """
    own = {parameter.untyped_storage().data_ptr() for parameter in module.parameters()}
    kept: dict[int, torch.Tensor] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        place = tensor.untyped_storage().data_ptr()
        if place not in own:
            kept[place] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        y = module(x)
    del y
    return sum(each.untyped_storage().nbytes() // each.element_size() for each in kept.values())
