"""Real images as samples (a key, an encoded image, a label), and as small files, one for each sample."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image


class Sample(NamedTuple):
    """One example as it lies on a disk.

    Attributes:
        key: its name, the same in every file that belongs to it.
        image: the encoded image, a PNG or a JPEG.
        label: its class.
        extension: "png" or "jpg".
    """

    key: str
    image: bytes
    label: int
    extension: str = "png"


def digit_samples(count: int = 1797, by_class: bool = False) -> list[Sample]:
    """Handwritten digits as PNG of 8 × 8 pixels, keys in the order in which they come.

    Args:
        by_class: all zeros first, then all ones: the order in which folders of classes are read.

    Raises:
        ValueError: unless 1 <= count <= 1797.

    >>> first = digit_samples(3)[0]
    >>> first.key, first.label, first.image[1:4]
    ('00000', 0, b'PNG')
    """
    from sklearn.datasets import load_digits  # half a second, and only who reads digits pays it

    if not 1 <= count <= 1797:
        raise ValueError(f"count must be from 1 to 1797, got {count}")
    found = load_digits()
    labels = found.target[:count]
    order = np.argsort(labels, kind="stable") if by_class else np.arange(count)
    images = found.images.astype(np.uint8)
    return [
        Sample(f"{place:05d}", _encoded(images[which], "PNG"), int(labels[which])) for place, which in enumerate(order)
    ]


def photo_samples(count: int, side: int, seed: int = 0) -> list[Sample]:
    """JPEG squares of `side` pixels from random places of two photographs (a temple, a flower), the label says which.

    Raises:
        ValueError: unless 1 <= side <= 427.

    Source: the images `china.jpg` and `flower.jpg` that scikit-learn ships.
    """
    from sklearn.datasets import load_sample_images

    photos = load_sample_images().images
    height, width = photos[0].shape[:2]
    if not 1 <= side <= height:
        raise ValueError(f"side must be from 1 to {height} pixels, got {side}")
    draw = np.random.default_rng(seed)
    samples = []
    for place in range(count):
        label = place % len(photos)
        top, left = draw.integers(height - side + 1), draw.integers(width - side + 1)
        square = photos[label][top : top + side, left : left + side]
        samples.append(Sample(f"{place:05d}", _encoded(square, "JPEG"), label, "jpg"))
    return samples


def pixels(sample: Sample) -> torch.Tensor:
    """The image decoded: a digit as 64 numbers from 0 to 1, as `load_digits` of `course_lib.tasks` gives them."""
    image = np.asarray(Image.open(BytesIO(sample.image)))
    return torch.from_numpy(image.astype(np.float32)).flatten() / 16


def _encoded(image: np.ndarray, kind: str) -> bytes:
    stream = BytesIO()
    Image.fromarray(image).save(stream, kind, quality=90)
    return stream.getvalue()


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
