"""Samples in one file behind a table of where each begins: any of them by one seek, where a tar is read to the place.

│ number n of samples │ n + 1 offsets │ sample 0 │ sample 1 │ … │      numbers are uint64

Source: what streaming formats have in common, such as MosaicML's MDS (mosaicml/streaming, docs, "Dataset format").
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np

from course_lib.checks import at_least
from course_lib.storage.samples import Sample

__all__ = ["IndexedShards", "write_indexed"]

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
