"""Samples a second from shards by our reader, by webdataset, and from small files by DataLoader, taking turns."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import webdataset
from torch.utils.data import DataLoader, Dataset

from benchmarks.row import Row, row_of
from course_lib.storage import Sample, digit_samples, photo_samples, read_file, read_shard, write_files, write_shards
from course_lib.storage.reading import time_samples

__all__ = ["measure"]


def measure(turns: int = 9) -> Iterator[Row]:
    """Our samples a second over each peer's: the encoded image and the label of every sample, files in memory."""
    kinds = {"digits, 0.1 kB": digit_samples(), "photographs, 21 kB": photo_samples(600, 256)}
    for kind, samples in kinds.items():
        with tempfile.TemporaryDirectory() as folder:
            ours, *peers = _readers(samples, Path(folder)).values()
            rates = [[time_samples(read()).samples_per_s for read in (ours, *peers)] for _ in range(turns + 1)][1:]
        for peer, name in enumerate(("webdataset's", "DataLoader's from small files"), start=1):
            ratios = [turn[0] / turn[peer] for turn in rates]
            what = f"samples a second from our shards over {name}, {kind}"
            yield row_of("storage", what, ratios, "x", "at least 1.0")


class _Files(Dataset):
    """A sample for each path."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, number: int) -> Sample:
        return read_file(self._paths[number])


def _readers(samples: list[Sample], folder: Path) -> dict[str, Callable[[], Iterable[Sample]]]:
    shards = write_shards(samples, folder / "shards", 100)
    files = _Files(write_files(samples, folder / "files"))
    # Both as they come by default, in one process: no decoding, no shuffling.
    stream = webdataset.WebDataset([str(path) for path in shards], shardshuffle=False)
    loader: DataLoader = DataLoader(files, batch_size=64, collate_fn=list)
    image = samples[0].extension
    return {
        "ours": lambda: itertools.chain.from_iterable(map(read_shard, shards)),
        "webdataset": lambda: (Sample(each["__key__"], each[image], int(each["cls"]), image) for each in stream),
        "DataLoader": lambda: itertools.chain.from_iterable(loader),
    }
