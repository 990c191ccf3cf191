"""Many samples in one file: tar archives in which files with a common key, one after the other, are one sample.

| member | holds |
| --- | --- |
| 00017.png | the image |
| 00017.cls | the label, in digits |

Every member has a header of 512 bytes and is filled up to a multiple of 512; zeros up to a multiple of 10,240 end it.

Source: A. Aizman, G. Maltby and T. Breuel, "High performance I/O for large scale deep learning", arXiv 2001.01858,
2020 (WebDataset's convention); POSIX.1-1988, ustar.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path

from course_lib.storage.samples import Sample

__all__ = ["TornShard", "pack_shard", "read_shard", "shard_bytes", "unpack_shard", "write_shards"]

_BLOCK, _RECORD = 512, 20 * 512


class TornShard(ValueError):
    """A shard that ends before its last sample does."""


def write_shards(samples: Sequence[Sample], folder: Path, shard_samples: int) -> list[Path]:
    """Write the samples in their order, `shard_samples` to a file and the rest to the last; return the paths.

    Raises:
        ValueError: if shard_samples is less than 1.
    """
    if shard_samples < 1:
        raise ValueError(f"shard_samples must be at least 1, got {shard_samples}")
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for first in range(0, len(samples), shard_samples):
        path = folder / f"shard-{len(paths):05d}.tar"
        path.write_bytes(pack_shard(samples[first : first + shard_samples]))
        paths.append(path)
    return paths


def pack_shard(samples: Iterable[Sample]) -> bytes:
    """The samples as one archive."""
    stream = BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for sample in samples:
            members = {sample.extension: sample.image, "cls": str(sample.label).encode()}
            for extension, content in members.items():
                member = tarfile.TarInfo(f"{sample.key}.{extension}")
                member.size = len(content)
                archive.addfile(member, BytesIO(content))
    return stream.getvalue()


def read_shard(path: Path) -> Iterator[Sample]:
    """Yield the samples of a shard in their order. Cost: one open, one long read, and memory for the whole shard."""
    with open(path, "rb", buffering=0) as file:
        content = file.readall()
    yield from unpack_shard(content, str(path))


def unpack_shard(content: bytes, name: str = "the shard") -> Iterator[Sample]:
    """Yield the samples of an archive that is in memory.

    Raises:
        TornShard: if it ends in the middle of a sample, or without its final zeros.
        ValueError: if a sample has not one image and one label.
    """
    place, key, parts = 0, "", dict[str, bytes]()
    while content[place : place + 1] != b"\0":
        header, start = content[place : place + _BLOCK], place + _BLOCK
        if len(content) < start:
            raise TornShard(f"{name} ends at byte {len(content)}, in the middle of sample {key!r} or right after it")
        size = int(header[124:135], 8)
        place = start + -(-size // _BLOCK) * _BLOCK
        if header[156:157] not in b"0\0":
            continue  # a folder, or more about the next file
        member, _, extension = header[:100].rstrip(b"\0").decode().partition(".")
        if parts and member != key:
            yield _sample(key, parts, name)
            parts = {}
        key, parts[extension] = member, content[start : start + size]
    if parts:
        yield _sample(key, parts, name)


def _sample(key: str, parts: dict[str, bytes], name: str) -> Sample:
    if len(parts) != 2 or "cls" not in parts:
        raise ValueError(f"{name}: sample {key!r} must have one image and one label (cls), got {sorted(parts)}")
    label = int(parts.pop("cls"))
    ((extension, image),) = parts.items()
    return Sample(key, image, label, extension)


def shard_bytes(samples: Sequence[Sample]) -> int:
    """How long the archive of these samples is, without making it.

    >>> shard_bytes([Sample("a", b"x" * 513, 7)]) == 10_240
    True
    """
    blocks = sum(2 + -(-len(sample.image) // _BLOCK) + 1 for sample in samples)
    return -(-(blocks + 2) * _BLOCK // _RECORD) * _RECORD
