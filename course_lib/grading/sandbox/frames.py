"""What travels between the judge and a rank: frames of raw bytes with a cap on everything, and nothing to unpickle.

A frame is a kind (1 byte), the length of its body (4 bytes) and the body: one value. A value is a tag and raw bytes:

| tag | value | bytes |
|---|---|---|
| N | None | none |
| B | bool | 1 |
| I | integer | 8, signed |
| F | float | 8 |
| S | text | length (4), utf-8 |
| T | tensor | dtype (1), dimensions (1), sizes (8 each), data |
| L | list, tuple, and what else has an order | count (4), values |
| X | something else | length (4), the name of its type |
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from .tensors import as_plain, raw_bytes

UNREADABLE = "its result cannot be read by the judge"
MAX_BODY_BYTES = 16 << 20  # of one frame
MAX_VALUES = 50_000  # in one frame
MAX_DEPTH = 6  # lists in lists
MAX_DIMENSIONS = 8

HEADER = struct.Struct("<BI")
COUNT = struct.Struct("<I")
INTEGER = struct.Struct("<q")
FLOAT = struct.Struct("<d")

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16]
DTYPES += [torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128]
DTYPES += [torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu]
DTYPES += [torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]
DTYPE_CODES = {dtype: code for code, dtype in enumerate(DTYPES)}


class Frame:
    """The kinds of frames."""

    # from the judge to a rank
    START = 1  # [mode, rank, world_size, function, cells, calls, cpu_s]
    DONE = 2  # [handle, source, tensor or None, clock_s]
    # from a rank to the judge
    SEND = 10  # [handle, dst, tensor, where, names of its barrier or group]
    RECV = 11  # [handle, src or -1, empty tensor of the right dtype, shape, where, names of its barrier or group]
    WAIT = 12  # [handle, where]
    COMPUTE = 13  # seconds
    RESULT = 14  # [returned values, arguments afterwards], one of each per call
    ERROR = 15  # [type, text, where, number of the call]


class FrameError(ValueError):
    """Bytes that are no frame: forged, cut short or too large."""


@dataclass(frozen=True)
class Other:
    """Stands for a value that cannot travel; all that is known is the name of its type."""

    type_name: str


@dataclass
class Payload:
    """A tensor as raw bytes: what the judge routes without looking inside."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    data: bytes | None

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor."""
        return self.dtype.itemsize * math.prod(self.shape)

    def tensor(self) -> torch.Tensor:
        """A new tensor of this content."""
        if not self.nbytes:
            return torch.empty(self.shape, dtype=self.dtype)
        assert self.data is not None
        return torch.frombuffer(bytearray(self.data), dtype=self.dtype).reshape(self.shape)


def pack(kind: int, value: Any) -> bytes:
    """The frame of this kind and value."""
    body = encode(value)
    if len(body) > MAX_BODY_BYTES:
        raise FrameError(f"{len(body)} bytes are too many for one frame, the most is {MAX_BODY_BYTES}")
    return HEADER.pack(kind, len(body)) + body


def split(buffer: bytearray) -> tuple[int, Any] | None:
    """Take the first frame off `buffer`: its kind and value, or None while it is incomplete.

    Raises:
        FrameError: if the bytes cannot be a frame.
    """
    if len(buffer) < HEADER.size:
        return None
    kind, length = HEADER.unpack_from(buffer)
    if length > MAX_BODY_BYTES:
        raise FrameError(f"a frame of {length} bytes, the most is {MAX_BODY_BYTES}")
    if len(buffer) < HEADER.size + length:
        return None
    body = bytes(buffer[HEADER.size : HEADER.size + length])
    del buffer[: HEADER.size + length]
    return kind, decode(body)


def encode(value: Any) -> bytes:
    """The raw bytes of a value. What cannot travel becomes the name of its type."""
    parts: list[bytes] = []
    _encode(value, parts, 0)
    return b"".join(parts)


def _encode(value: Any, parts: list[bytes], depth: int) -> None:
    value = as_plain(value)
    if value is None:
        parts.append(b"N")
    elif isinstance(value, bool):
        parts.append(b"B\1" if value else b"B\0")
    elif isinstance(value, int) and -(2**63) <= value < 2**63:
        parts.append(b"I" + INTEGER.pack(value))
    elif isinstance(value, (int, float, Fraction, Decimal)):
        parts.append(b"F" + FLOAT.pack(float(value)))
    elif isinstance(value, str):
        _encode_text(b"S", value, parts)
    elif isinstance(value, (torch.Tensor, np.ndarray, Payload)):
        _encode_tensor(value, parts)
    elif isinstance(value, (list, tuple)) and depth < MAX_DEPTH:
        parts.append(b"L" + COUNT.pack(len(value)))
        for item in value:
            _encode(item, parts, depth + 1)
    else:
        _encode_text(b"X", type(value).__name__, parts)


def _encode_text(tag: bytes, text: str, parts: list[bytes]) -> None:
    raw = text.encode("utf-8", "replace")
    parts.append(tag + COUNT.pack(len(raw)) + raw)


def _encode_tensor(value: torch.Tensor | np.ndarray | Payload, parts: list[bytes]) -> None:
    if isinstance(value, np.ndarray):
        value = torch.from_numpy(np.asarray(value, order="C"))
    if isinstance(value, torch.Tensor):
        value = Payload(value.dtype, tuple(value.shape), raw_bytes(value))
    if value.dtype not in DTYPE_CODES:
        raise TypeError(f"a tensor of {value.dtype} cannot travel between processes here")
    sizes = b"".join(INTEGER.pack(size) for size in value.shape)
    parts.append(bytes([84, DTYPE_CODES[value.dtype], len(value.shape)]) + sizes)
    parts.append(value.data or b"")


def decode(body: bytes) -> Any:
    """The value in these bytes; tensors come as `Payload`.

    Raises:
        FrameError: if the bytes are not exactly one value within the caps.
    """
    reader = _Reader(body)
    value = reader.value(0)
    if reader.position != len(body):
        raise FrameError(f"{len(body) - reader.position} bytes too many")
    return value


def with_tensors(value: Any) -> Any:
    """What was decoded, with tensors in place of payloads."""
    if isinstance(value, Payload):
        return value.tensor()
    return [with_tensors(item) for item in value] if isinstance(value, list) else value


class _Reader:
    """Walks once through a body."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.position = 0
        self.values = 0

    def take(self, count: int) -> bytes:
        if count < 0 or count > len(self.body) - self.position:
            raise FrameError("a value is longer than its frame")
        self.position += count
        return self.body[self.position - count : self.position]

    def count(self) -> int:
        return COUNT.unpack(self.take(4))[0]

    def value(self, depth: int) -> Any:
        self.values += 1
        if self.values > MAX_VALUES or depth > MAX_DEPTH:
            raise FrameError(f"more than {MAX_VALUES} values, or lists more than {MAX_DEPTH} deep")
        tag = self.take(1)
        if tag == b"N":
            return None
        if tag == b"B":
            return self.take(1) != b"\0"
        if tag == b"I":
            return INTEGER.unpack(self.take(8))[0]
        if tag == b"F":
            return FLOAT.unpack(self.take(8))[0]
        if tag == b"S":
            return self.take(self.count()).decode("utf-8", "replace")
        if tag == b"X":
            return Other(self.take(self.count()).decode("utf-8", "replace")[:80])
        if tag == b"T":
            return self.tensor()
        if tag == b"L":
            return [self.value(depth + 1) for _ in range(self.count())]
        raise FrameError(f"unknown tag {tag!r}")

    def tensor(self) -> Payload:
        code, dimensions = self.take(2)
        if code >= len(DTYPES) or dimensions > MAX_DIMENSIONS:
            raise FrameError(f"unknown dtype {code} or too many dimensions {dimensions}")
        shape = tuple(INTEGER.unpack(self.take(8))[0] for _ in range(dimensions))
        if any(not 0 <= size <= MAX_BODY_BYTES for size in shape):
            raise FrameError(f"impossible shape {shape}")
        payload = Payload(DTYPES[code], shape, None)
        payload.data = self.take(payload.nbytes)
        return payload
