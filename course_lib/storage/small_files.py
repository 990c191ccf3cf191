"""A file for every sample, in a folder for every class."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from course_lib.storage.samples import Sample

__all__ = ["read_file", "write_files"]


def write_files(samples: Iterable[Sample], folder: Path) -> list[Path]:
    """Write each sample to folder/label/key.extension and return the paths, in the order of the samples."""
    paths = []
    for sample in samples:
        path = folder / str(sample.label) / f"{sample.key}.{sample.extension}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(sample.image)
        paths.append(path)
    return paths


def read_file(path: Path) -> Sample:
    """The sample that `write_files` wrote there. Cost: one open, one read."""
    with open(path, "rb", buffering=0) as file:
        return Sample(path.stem, file.read(), int(path.parent.name), path.suffix[1:])
