"""The least that any multiplication of two square matrices must move, given the memory of each rank."""

from __future__ import annotations

import math

__all__ = ["min_elements_moved"]


def min_elements_moved(n: int, world_size: int, memory_elements: float) -> float:
    """Numbers that some rank must send and receive, together, to multiply two n × n matrices in the usual n³ way.

    n³ / (2√2 p √M) − M, where each of p ranks has room for M numbers. Strassen's way may do with less.

    Source: Irony, Toledo and Tiskin, "Communication lower bounds for distributed-memory matrix multiplication",
    JPDC 64(9), 2004.

    Few ranks have so much room that the bound says nothing:

    >>> [round(min_elements_moved(4096, world_size=p, memory_elements=3 * 4096**2 / p)) for p in (64, 4096)]
    [0, 41222]
    """
    bound = n**3 / (2 * math.sqrt(2) * world_size * math.sqrt(memory_elements)) - memory_elements
    return max(0.0, bound)
