"""What two exercises of chapter 10 use: rows of which the k largest numbers are clear."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["largest_first", "sent_of", "ties"]


def largest_first(row: np.ndarray, size: Callable[[np.ndarray], np.ndarray] = np.abs) -> np.ndarray:
    """Places of a row, that of the largest number first."""
    return np.argsort(-size(row), kind="stable")


def sent_of(wanted: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The row with zeros everywhere but in these places."""
    sent = np.zeros_like(wanted)
    sent[places] = wanted[places]
    return sent


def ties(gradients: list[list[int]], k: int) -> bool:
    """Whether in some step of top-k with error feedback two numbers could both be the k-th largest."""
    residual = np.zeros(len(gradients[0]), dtype=int)
    for gradient in gradients:
        wanted = residual + gradient
        order = largest_first(wanted)
        if k < len(order) and abs(wanted[order[k - 1]]) == abs(wanted[order[k]]):
            return True
        residual = wanted - sent_of(wanted, order[:k])
    return False
