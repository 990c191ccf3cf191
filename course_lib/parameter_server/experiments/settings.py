"""A function of one frozen dataclass, called with the dataclass's own arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["settings_of"]

P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")


def settings_of(make: Callable[P, S]) -> Callable[[Callable[[S], R]], Callable[P, R]]:
    """Let a function of one setting be called with what makes that setting; help and types name each argument.

    >>> from fractions import Fraction
    >>> @settings_of(Fraction)
    ... def double(setting):
    ...     return 2 * setting
    >>> double(1, denominator=3)
    Fraction(2, 3)
    """

    def decorate(function: Callable[[S], R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return function(make(*args, **kwargs))

        call.__signature__ = inspect.signature(make)  # type: ignore[attr-defined]
        return call

    return decorate
