"""The norm of a gradient that lies in parts on many ranks: every number of the model counts once.

On a rank lie split parameters, which no other rank of its pipeline and tensor groups has; shared ones, which all
tensor ranks have; and perhaps a copy of the tied embedding. Summing the squares of all that lies anywhere counts the
second kind t times and the third one twice, and then every rank clips too much.
"""

from __future__ import annotations

import torch

from course_lib.collectives import ring_all_reduce
from course_lib.mesh.stage import MeshStage
from course_lib.tensor_parallel import is_shared

__all__ = ["clip_gradients", "counts_here", "gradient_norm"]


def counts_here(stage: MeshStage, name: str) -> bool:
    """Whether this rank counts its parameter: shared ones count on tensor rank 0, tied ones on the first stage."""
    if is_shared(name) and stage.here.at.tensor > 0:
        return False
    return not (name == "output.weight" and stage.tied)  # counted as the embedding's weight


def gradient_norm(stage: MeshStage) -> float:
    """The norm of the whole model's gradient, the same on every rank. Gradients must be averaged over data before.

    Cost: an all-reduce of one number over the tensor group, and one over the pipeline group.
    """
    gradients = [each.grad for name, each in stage.named_parameters() if counts_here(stage, name)]
    squares = sum((gradient.double().square().sum() for gradient in gradients if gradient is not None), torch.zeros(()))
    total = squares.double().reshape(1)
    ring_all_reduce(stage.here.tensor, total)
    ring_all_reduce(stage.here.pipeline, total)
    return float(total.sqrt())


def clip_gradients(stage: MeshStage, most: float) -> float:
    """Shrink all gradients by one factor, so that their norm is at most `most`; the norm before that.

    Source: torch.nn.utils.clip_grad_norm_, with its 1e-6.
    """
    norm = gradient_norm(stage)
    factor = min(1.0, most / (norm + 1e-6))
    for parameter in stage.parameters():
        if parameter.grad is not None:
            parameter.grad.mul_(factor)
    return norm
