"""Argument checks: `ValueError`s that read the same everywhere."""

from __future__ import annotations


def at_least(minimum: float, **values: float) -> None:
    """Refuse an argument that is less, or no number, by its name.

    >>> at_least(1, ranks=4, copies=1)

    Raises:
        ValueError: naming the first that is less and its value.
    """
    for name, value in values.items():
        if not value >= minimum:
            raise ValueError(f"{name} must be at least {minimum}, got {value}")


def positive(**values: float) -> None:
    """Refuse an argument that is not more than 0, by its name: a rate, a time, a number of bytes a second.

    >>> positive(bytes_per_s=0.5)

    Raises:
        ValueError: naming the first that is not, and its value.
    """
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} must be more than 0, got {value}")
