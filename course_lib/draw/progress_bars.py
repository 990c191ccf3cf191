"""A progress bar for what takes longer than a breath."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

__all__ = ["progress", "progress_bar"]

_Item = TypeVar("_Item")


def progress(items: Iterable[_Item], label: str = "") -> Iterator[_Item]:
    """The items, with a bar that says how far the loop is and that leaves nothing behind in the output."""
    yield from _bar(items, label)


@contextlib.contextmanager
def progress_bar(label: str = "") -> Iterator[Callable[[int, int], None]]:
    """The same bar for a long call: gives a function to be called with what is done and what is to do in all.

    >>> with progress_bar("counting") as show:
    ...     for done in range(3):
    ...         show(done + 1, 3)
    """
    bar = _bar(None, label)

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    try:
        yield show
    finally:
        bar.close()


def _bar(items: Iterable[Any] | None, label: str) -> Any:
    from tqdm.std import tqdm  # the plain bar: a widget's would leave its state in the notebook

    file = sys.stdout if "ipykernel" in sys.modules else sys.stderr  # a notebook paints what is on stderr red
    return tqdm(items, desc=label, leave=False, dynamic_ncols=True, delay=0.5, file=file)
