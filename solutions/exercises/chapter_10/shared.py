"""What exercises of chapter 10 use: rows of which the k largest numbers are clear."""

import numpy as np


def largest_first(row):
    """Places of a row, that of the largest magnitude first."""
    return np.argsort(-abs(row), kind="stable")


def ties(gradients, k):
    """Whether in some step of top-k with error feedback two numbers could both be the k-th largest."""
    waiting = np.zeros(len(gradients[0]), dtype=int)
    for gradient in gradients:
        waiting += gradient
        order = largest_first(waiting)
        if k < len(order) and abs(waiting[order[k - 1]]) == abs(waiting[order[k]]):
            return True
        waiting[order[:k]] = 0
    return False
