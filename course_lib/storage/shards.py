"""Shards, many samples in one file: tar archives as WebDataset has them, and files with an index for random access.

In a tar, files with a common key, one after the other, are one sample:

| member | holds |
| --- | --- |
| 00017.png | the image |
| 00017.cls | the label, in digits |

A key may have folders, `day-1.5/00017`: it ends at the first dot of the last component.

Every member has a header of 512 bytes and is filled up to a multiple of 512; zeros up to a multiple of 10,240 end it.

Source: A. Aizman, G. Maltby and T. Breuel, "High performance I/O for large scale deep learning", arXiv 2001.01858,
2020 (WebDataset's convention); POSIX.1-1988, ustar.

A file with an index begins with where each sample begins, so any of them is one seek away:

│ number n of samples │ n + 1 offsets │ sample 0 │ sample 1 │ … │      numbers are uint64

Source: what streaming formats have in common, such as MosaicML's MDS (mosaicml/streaming, docs, "Dataset format").
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from itertools import accumulate
from pathlib import Path

import numpy as np

from course_lib.checks import at_least
from course_lib.storage.samples import Sample

_BLOCK, _RECORD = 512, 20 * 512
_KEY = re.compile(r"((?:.*/)?[^.]+)\.([^/]*)$", re.DOTALL)  # the first dot of the last component parts them
# A component that begins with a dot, but "." and ".."; and what macOS and Windows leave beside others' files.
_HIDDEN = re.compile(r"(?:^|/)(?:\.(?!/|\./)|__MACOSX/|(?:Thumbs\.db|desktop\.ini)$)")
_IMAGES = ("bmp", "gif", "jpeg", "jpg", "pbm", "pgm", "png", "ppm", "tif", "tiff", "webp")


class TornShard(ValueError):
    """A shard that ends before its last sample does."""


def write_shards(samples: Sequence[Sample], folder: Path, shard_samples: int) -> list[Path]:
    """Write the samples in their order, `shard_samples` to a file and the rest to the last; return the paths.

    Raises:
        ValueError: if shard_samples is less than 1.
    """
    at_least(1, shard_samples=shard_samples)
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for first in range(0, len(samples), shard_samples):
        path = folder / f"shard-{len(paths):05d}.tar"
        path.write_bytes(pack_shard(samples[first : first + shard_samples]))
        paths.append(path)
    return paths


def pack_shard(samples: Iterable[Sample]) -> bytes:
    """The samples as one archive.

    Raises:
        ValueError: if a sample's key or extension would not come out of it as it went in, or is too long for a name.
    """
    stream = BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for sample in samples:
            _check_name(sample.key, sample.extension)
            members = {sample.extension: sample.image, "cls": str(sample.label).encode()}
            for extension, content in members.items():
                member = tarfile.TarInfo(f"{sample.key}.{extension}")
                member.size = len(content)
                archive.addfile(member, BytesIO(content))
    return stream.getvalue()


def _check_name(key: str, extension: str) -> None:
    name = f"{key}.{extension}"
    match = _KEY.match(name)
    if match is None or match.groups() != (key, extension) or extension in ("", "cls") or key.endswith("/"):
        raise ValueError(f"a key ends at the first dot of its last component, and needs an extension, got {name!r}")
    if _HIDDEN.search(name):
        raise ValueError(f"a key must not be hidden, or a file of macOS or Windows, got {name!r}")


def read_shard(path: Path) -> Iterator[Sample]:
    """Yield the samples of a shard in their order. Cost: one open, one long read, and memory for the whole shard."""
    with open(path, "rb", buffering=0) as file:
        content = file.readall()
    yield from unpack_shard(content, str(path))


def unpack_shard(content: bytes, name: str = "the shard") -> Iterator[Sample]:
    """Yield the samples of an archive that is in memory.

    Raises:
        TornShard: if it ends in the middle of a sample, or without its final zeros.
        ValueError: if it is no archive, or a sample has not one image and one label, or one of its files twice.
    """
    place = 0
    key = ""
    parts = dict[str, bytes]()
    longer = b""
    while content[place : place + 1] != b"\0":
        header, start = content[place : place + _BLOCK], place + _BLOCK
        if len(content) < start:
            raise TornShard(f"{name} ends at byte {len(content)}, in the middle of sample {key!r} or right after it")
        size, kind = _size(header, name), header[156:157]
        place = start + -(-size // _BLOCK) * _BLOCK
        if kind not in b"0\0":  # a folder, or more about the next file
            longer = _long_name(kind, content[start : start + size]) or longer
            continue
        path = (longer or _name(header)).decode()
        member, longer = _KEY.match(path), b""
        if member is None or _HIDDEN.search(path):
            continue  # a file without a key and an extension is of no sample, nor is a hidden one
        if parts and member[1] != key:
            yield _sample(key, parts, name)
            parts = {}
        key = member[1]
        if member[2] in parts:
            raise ValueError(f"{name}: sample {key!r} has {member[2]!r} twice")
        parts[member[2]] = content[start : start + size]
    if parts:
        yield _sample(key, parts, name)


def _size(header: bytes, name: str) -> int:
    try:
        return int(header[124:135], 8)
    except ValueError:
        raise ValueError(f"{name} is no tar archive: a size must be octal digits, got {header[124:135]!r}") from None


def _name(header: bytes) -> bytes:
    """A file's name as it stands in its header; POSIX's has room for the folders in front."""
    name, prefix = header[:100].rstrip(b"\0"), header[345:500].rstrip(b"\0")
    return b"/".join([prefix, name]) if prefix and header[257:263] == b"ustar\0" else name


def _long_name(kind: bytes, content: bytes) -> bytes:
    """The next file's name, if this is where GNU's tar (L) or POSIX's (x) keep one that its header has no room for."""
    if kind == b"L":
        return content.rstrip(b"\0")
    while kind == b"x" and content:
        length = int(content.partition(b" ")[0])  # a record's own: "30 path=a name of any length\n"
        keyword, _, value = content[:length].partition(b" ")[2].partition(b"=")
        if keyword == b"path":
            return value[:-1]
        content = content[max(1, length) :]
    return b""


def _sample(key: str, parts: dict[str, bytes], name: str) -> Sample:
    """The label and the one image; with more than one file beside the label, what is no image is passed over."""
    files = {extension: content for extension, content in parts.items() if extension != "cls"}
    images = files if len(files) == 1 else {kind: files[kind] for kind in files if kind.lower() in _IMAGES}
    if len(images) != 1 or "cls" not in parts:
        raise ValueError(f"{name}: sample {key!r} must have one image and one label (cls), got {sorted(parts)}")
    ((extension, image),) = images.items()
    return Sample(key, image, int(parts["cls"]), extension)


def shard_bytes(samples: Sequence[Sample]) -> int:
    """How long the archive of these samples is, without making it.

    >>> shard_bytes([Sample("a", b"x" * 513, 7)]) == 10_240
    True
    """
    blocks = sum(2 + -(-len(sample.image) // _BLOCK) + 1 for sample in samples)
    return -(-(blocks + 2) * _BLOCK // _RECORD) * _RECORD


_NUMBER = np.dtype("<u8")


def write_indexed(samples: Sequence[Sample], folder: Path, shard_samples: int) -> list[Path]:
    """Write the samples in their order, `shard_samples` to a file and the rest to the last; return the paths.

    Raises:
        ValueError: if shard_samples is less than 1.
    """
    at_least(1, shard_samples=shard_samples)
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for first in range(0, len(samples), shard_samples):
        records = [_packed(sample) for sample in samples[first : first + shard_samples]]
        table_bytes = (len(records) + 2) * _NUMBER.itemsize
        table = [len(records), *accumulate(map(len, records), initial=table_bytes)]
        path = folder / f"shard-{len(paths):05d}.indexed"
        path.write_bytes(np.array(table, _NUMBER).tobytes() + b"".join(records))
        paths.append(path)
    return paths


class IndexedShards:
    """All samples of some files, by number: a dataset for a `DataLoader`, whose sampler may then draw any order.

    Opens each file once and reads its table. Whoever gets it pickled, as a worker that is no fork, opens them anew.

    Attributes:
        lengths: samples of each file.
        read_bytes: what was asked for so far, tables included.

    Raises:
        ValueError: if a file has not the length that its table says.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths, self.read_bytes = list(paths), 0
        self._contents = [np.memmap(path, np.uint8, mode="r") for path in paths]
        self._offsets = [self._table(number) for number in range(len(paths))]
        self.lengths = [len(offsets) - 1 for offsets in self._offsets]
        self._firsts = np.cumsum([0, *self.lengths])

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def __getitem__(self, number: int) -> Sample:
        """One sample. Cost: one seek, and a read of its own bytes."""
        if not 0 <= number < len(self):
            raise IndexError(f"a sample's number must be from 0 to {len(self) - 1}, got {number}")
        shard = int(np.searchsorted(self._firsts, number, side="right")) - 1
        first, stop = self._offsets[shard][number - self._firsts[shard] :][:2]
        return _unpacked(self._read(shard, first, stop))

    def __reduce__(self) -> tuple[type[IndexedShards], tuple[list[Path]]]:
        return IndexedShards, (self.paths,)

    def _table(self, shard: int) -> np.ndarray:
        size, whole = _NUMBER.itemsize, len(self._contents[shard])
        samples = int.from_bytes(self._read(shard, 0, size), "little")
        table = self._read(shard, size, (samples + 2) * size)
        if len(table) != (samples + 1) * size or int.from_bytes(table[-size:], "little") != whole:
            raise ValueError(f"{self.paths[shard]} must have as many bytes as its table says, got {whole}")
        return np.frombuffer(table, _NUMBER).astype(np.int64)

    def _read(self, shard: int, first: int, stop: int) -> bytes:
        content = self._contents[shard][first:stop].tobytes()
        self.read_bytes += len(content)
        return content


def _packed(sample: Sample) -> bytes:
    return f"{sample.key}.{sample.extension}\0{sample.label}\0".encode() + sample.image


def _unpacked(record: bytes) -> Sample:
    name, label, image = record.split(b"\0", 2)
    key, _, extension = name.decode().rpartition(".")
    return Sample(key, image, int(label), extension)
