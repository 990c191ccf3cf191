"""Checkpoint files: their names, a hash that shows damage, and content that is read without unpickling code.

life-1-3fa9c1.step-50.rank-0-of-2      life-2-07be44.step-50.rank-0-of-2     (died while it wrote step 60)
life-1-3fa9c1.step-50.rank-1-of-2      life-2-07be44.step-50.rank-1-of-2

A life is one start of the training.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import secrets
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

_NAME = re.compile(r"life-(\d+)-([0-9a-f]{6})\.step-(\d+)\.rank-(\d+)-of-(\d+)$")
_MANY = 2**24  # as many numbers as have six hexadecimal digits


class LifeId(NamedTuple):
    """Identifies one start of a training: later ones have a greater number, and a random part avoids collisions."""

    number: int
    drawn: int

    def __str__(self) -> str:
        return f"life-{self.number}-{self.drawn:06x}"


class Saved(NamedTuple):
    """A checkpoint: in order of age, the oldest first."""

    life: LifeId
    step: int
    ranks: int

    def name(self, rank: int) -> str:
        """The file's name of one rank's part."""
        return f"{self.life}.step-{self.step}.rank-{rank}-of-{self.ranks}"

    def names(self) -> list[str]:
        """Those of all parts."""
        return [self.name(rank) for rank in range(self.ranks)]


def found_in(folder: Path) -> dict[Saved, set[int]]:
    """The ranks of which there is a part, damaged or not, of each checkpoint; the oldest first."""
    found: dict[Saved, set[int]] = {}
    for match in filter(None, map(_NAME.match, os.listdir(folder))):
        life = LifeId(int(match[1]), int(match[2], 16))
        found.setdefault(Saved(life, int(match[3]), int(match[5])), set()).add(int(match[4]))
    return dict(sorted(found.items()))


def next_life(folder: Path, drawn: int) -> LifeId:
    """A new life, later than all that have left files in the folder."""
    return LifeId(1 + max((saved.life.number for saved in found_in(folder)), default=0), drawn)


def draw() -> int:
    """A random number of six hexadecimal digits, which tells apart lives that begin at once."""
    return secrets.randbelow(_MANY)


_MAGIC = b"course1\n"
_DIGEST_BYTES = 32
_LENGTH_BYTES = 8
_HEAD_BYTES = len(_MAGIC) + _LENGTH_BYTES + _DIGEST_BYTES


class DamagedFileError(ValueError):
    """Raised for a corrupted file: cut short, changed, or never one of ours."""


def seal(content: bytes) -> bytes:
    """The content with its length and a SHA-256 checksum in front, so that truncation and corruption are detected.

    >>> unseal(seal(b"weights"))
    b'weights'
    """
    digest = hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
    return _MAGIC + len(content).to_bytes(_LENGTH_BYTES, "big") + digest + content


def unseal(sealed: bytes, name: str = "the file") -> bytes:
    """The content that was sealed.

    Raises:
        DamagedFileError: naming the file and what is wrong with it.

    >>> unseal(seal(b"weights")[:-1])
    Traceback (most recent call last):
    course_lib.faults.checkpoint_files.DamagedFileError: the file is torn: 6 of 7 bytes
    """
    if not sealed.startswith(_MAGIC) or len(sealed) < _HEAD_BYTES:
        raise DamagedFileError(f"{name} has no whole head: {len(sealed)} bytes")
    head, content = sealed[:_HEAD_BYTES], sealed[_HEAD_BYTES:]
    length = int.from_bytes(head[len(_MAGIC) : len(_MAGIC) + _LENGTH_BYTES], "big")
    if len(content) != length:
        raise DamagedFileError(f"{name} is torn: {len(content)} of {length} bytes")
    if hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest() != head[-_DIGEST_BYTES:]:
        raise DamagedFileError(f"{name} is corrupted: its {length} bytes have another hash")
    return content


def read_checked(path: Path) -> bytes:
    """Read a sealed file and verify its checksum; its content.

    Raises:
        DamagedFileError: as `unseal`.
    """
    return unseal(path.read_bytes(), path.name)


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
