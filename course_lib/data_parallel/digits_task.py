"""The task on which this floor's experiments train: a small classifier of handwritten digits."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

__all__ = ["accuracy", "digits_model", "scores"]


def digits_model(seed: int = 0, hidden: int = 32, batch_norm: bool = False) -> nn.Sequential:
    """A classifier of 64 pixels with one hidden layer; the same weights for the same seed, on every rank.

    >>> digits_model()(torch.zeros(5, 64)).shape
    torch.Size([5, 10])
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        norm = [nn.BatchNorm1d(hidden)] if batch_norm else []
        return nn.Sequential(nn.Linear(64, hidden), *norm, nn.ReLU(), nn.Linear(hidden, 10))


def accuracy(model: nn.Module, inputs: torch.Tensor, labels: torch.Tensor) -> float:
    """The part of the images that the model, in evaluation mode, classifies rightly."""
    return scores(model, inputs, labels)[1]


def scores(model: nn.Module, inputs: torch.Tensor, labels: torch.Tensor) -> tuple[float, float]:
    """Mean loss and accuracy of the model in evaluation mode; it stays in the mode it was in."""
    training = model.training
    model.eval()
    with torch.no_grad():
        outputs = model(inputs)
    model.train(training)
    return functional.cross_entropy(outputs, labels).item(), (outputs.argmax(1) == labels).float().mean().item()
