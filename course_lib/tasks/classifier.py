"""A small classifier of handwritten digits whose parameters are one row of numbers, with its gradient by hand."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn.functional import cross_entropy, mse_loss, one_hot, softmax

_PIXELS, _CLASSES = 64, 10
_ONE_HOT = torch.eye(_CLASSES)


@dataclass(frozen=True)
class Classifier:
    """Softmax regression, or a network of one hidden layer with tanh.

    Args:
        hidden: units of the hidden layer; 0: none.
        squared: the loss is the squared distance to the ten one-hot numbers, half the sum, in place of cross-entropy;
            then the loss has no bound and its curvature is the same everywhere.
    """

    hidden: int = 0
    squared: bool = False

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Weights and biases, layer by layer."""
        if not self.hidden:
            return [(_PIXELS, _CLASSES), (_CLASSES,)]
        return [(_PIXELS, self.hidden), (self.hidden,), (self.hidden, _CLASSES), (_CLASSES,)]

    @property
    def lengths(self) -> list[int]:
        """How many numbers each tensor has.

        >>> Classifier().lengths, Classifier(hidden=32).lengths
        ([640, 10], [2048, 32, 320, 10])
        """
        return [torch.Size(shape).numel() for shape in self.shapes]

    def initial(self, seed: int = 0) -> torch.Tensor:
        """The parameters to begin with: weights from a normal distribution of variance 1/inputs, biases 0."""
        generator = torch.Generator().manual_seed(seed)
        weights = [torch.randn(shape, generator=generator) * shape[0] ** -0.5 for shape in self.shapes[::2]]
        biases = [torch.zeros(shape) for shape in self.shapes[1::2]]
        return torch.cat([t.reshape(-1) for pair in zip(weights, biases, strict=True) for t in pair])

    def tensors(self, parameters: torch.Tensor) -> list[torch.Tensor]:
        """The row as weights and biases, layer by layer, as views."""
        parts = zip(parameters.split_with_sizes(self.lengths), self.shapes, strict=True)
        return [part.view(shape) for part, shape in parts]

    def gradient(self, parameters: torch.Tensor, inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The gradient of the mean loss over a batch, a row like `parameters`: [p], [n, 64], [n] -> [p]."""
        *first, weight, bias = self.tensors(parameters)
        features = torch.tanh(torch.addmm(first[1], inputs, first[0])) if first else inputs
        outputs = torch.addmm(bias, features, weight)
        wanted = _ONE_HOT.to(labels.device).index_select(0, labels)
        error = (outputs if self.squared else softmax(outputs, 1)).sub_(wanted)
        error /= len(labels)
        parts = [(features.T @ error).reshape(-1), error.sum(0)]
        if first:
            below = error @ weight.T * (1 - features**2)
            parts = [(inputs.T @ below).reshape(-1), below.sum(0), *parts]
        return torch.cat(parts)

    def outputs(self, parameters: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        """One number for each class: [p], [n, 64] -> [n, 10]."""
        *first, weight, bias = self.tensors(parameters)
        features = torch.tanh(torch.addmm(first[1], inputs, first[0])) if first else inputs
        return torch.addmm(bias, features, weight)

    def loss(self, parameters: torch.Tensor, inputs: torch.Tensor, labels: torch.Tensor) -> float:
        """The mean loss over a batch."""
        outputs = self.outputs(parameters, inputs)
        if self.squared:
            return float(mse_loss(outputs, one_hot(labels, _CLASSES).to(outputs.dtype)) * _CLASSES / 2)
        return float(cross_entropy(outputs, labels))

    def accuracy(self, parameters: torch.Tensor, inputs: torch.Tensor, labels: torch.Tensor) -> float:
        """The share of a batch that it gets right."""
        return float((self.outputs(parameters, inputs).argmax(1) == labels).double().mean())
