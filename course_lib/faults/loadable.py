"""What a checkpoint can hold: numbers, texts, tensors, lists and dictionaries of them; reading it runs no code."""

from __future__ import annotations

import io
from collections import OrderedDict
from typing import Any

import torch
from torch import nn

__all__ = ["pack_state", "unpack_state"]

_ATOMS = {int, float, complex, bool, str, type(None)}


def pack_state(state: dict[str, Any]) -> bytes:
    """The state as bytes that `unpack_state` can read.

    Raises:
        TypeError: naming the part that it could not read, and its type.

    >>> from pathlib import PurePosixPath
    >>> pack_state({"step": 3, "losses": [0.5, PurePosixPath("log")]})
    Traceback (most recent call last):
    TypeError: state['losses'][1] is a pathlib.PurePosixPath, which no checkpoint can hold, since ...
    """
    _refuse(state, "state", ())
    return _written(state)


def unpack_state(content: bytes) -> Any:
    """What was packed; bytes of another origin can run no code."""
    return torch.load(io.BytesIO(content), weights_only=True, map_location="cpu")


def _written(part: Any) -> bytes:
    content = io.BytesIO()
    torch.save(part, content)
    return content.getvalue()


def _refuse(part: Any, name: str, around: tuple[int, ...]) -> None:
    """Look at each part; what is none of the plain ones is tried."""
    if id(part) in around:
        raise TypeError(f"{name} holds itself, which no checkpoint can hold")
    if type(part) in (dict, OrderedDict):
        inner = [*((f"the key {key!r} of {name}", key) for key in part if type(key) not in _ATOMS)]
        inner += ((f"{name}[{key!r}]", value) for key, value in part.items() if type(value) not in _ATOMS)
    elif type(part) in (list, tuple):
        inner = [(f"{name}[{place}]", value) for place, value in enumerate(part) if type(value) not in _ATOMS]
    elif type(part) in _ATOMS or (type(part) in (torch.Tensor, nn.Parameter) and not part.__dict__):
        return
    else:
        _try(part, name)
        return
    for words, value in inner:
        _refuse(value, words, (*around, id(part)))


def _try(part: Any, name: str) -> None:
    try:
        unpack_state(_written(part))
    except Exception as error:
        kind = f"{type(part).__module__}.{type(part).__qualname__}".removeprefix("builtins.")
        raise TypeError(
            f"{name} is a {kind}, which no checkpoint can hold, since reading it would run code: say what it is in "
            "numbers, texts, tensors, and lists and dictionaries of them"
        ) from error
