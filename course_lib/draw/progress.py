"""A progress bar for loops that take longer than a breath."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

__all__ = ["progress"]

_Item = TypeVar("_Item")


def progress(items: Iterable[_Item], label: str = "") -> Iterator[_Item]:
    """The items, with a bar that says how far the loop is and that leaves nothing behind in the output."""
    from tqdm.std import tqdm  # the plain bar: a widget's would leave its state in the notebook

    file = sys.stdout if "ipykernel" in sys.modules else sys.stderr  # a notebook paints what is on stderr red
    yield from tqdm(items, desc=label, leave=False, dynamic_ncols=True, delay=0.5, file=file)
