"""Files that tell whether they are what was written."""

from __future__ import annotations

import hashlib
from pathlib import Path

__all__ = ["DamagedFileError", "read_checked", "seal", "unseal"]

_MAGIC = b"course1\n"
_DIGEST_BYTES = 32
_LENGTH_BYTES = 8
_HEAD_BYTES = len(_MAGIC) + _LENGTH_BYTES + _DIGEST_BYTES


class DamagedFileError(ValueError):
    """A file is not what was written: cut short, changed, or never one of ours."""


def seal(content: bytes) -> bytes:
    """The content behind its length and a hash, so that any cut and any change of it shows.

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
    course_lib.faults.sealed.DamagedFileError: the file is torn: 6 of 7 bytes
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
    """What was sealed and written to the path.

    Raises:
        DamagedFileError: as `unseal`.
    """
    return unseal(path.read_bytes(), path.name)
