"""What torchrun, or another launcher, has put into a process's environment: which of the ranks it is."""

from __future__ import annotations

import os
from typing import NamedTuple

__all__ = ["Position", "find_position", "under_torchrun"]


class Position(NamedTuple):
    """Which rank this process is, among how many, and how many of them share its machine."""

    rank: int
    world_size: int
    local_rank: int
    local_world_size: int


def under_torchrun() -> bool:
    """True if torchrun (or another launcher that sets RANK and WORLD_SIZE) started this process."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def find_position() -> Position:
    """This process's place; one rank alone where nobody has said so.

    Raises:
        ValueError: if there is no such place.
    """
    if not under_torchrun():
        return Position(0, 1, 0, 1)
    rank, world_size = _number("RANK"), _number("WORLD_SIZE")
    local_rank, local_world_size = _number("LOCAL_RANK", rank), _number("LOCAL_WORLD_SIZE", world_size)
    for name, one, many in (("", rank, world_size), ("LOCAL_", local_rank, local_world_size)):
        if not 0 <= one < many:
            raise ValueError(f"{name}RANK must be from 0 to {name}WORLD_SIZE - 1, got {one} of {many}")
    return Position(rank, world_size, local_rank, local_world_size)


def _number(name: str, otherwise: int = 0) -> int:
    """The whole number that a launcher has put into this variable.

    Raises:
        ValueError: if it is something else.
    """
    text = os.environ.get(name, str(otherwise))
    try:
        return int(text)
    except ValueError as error:
        raise ValueError(f"the variable {name} must be a whole number, got {text!r}") from error
