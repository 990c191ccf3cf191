"""The storage explorer: nodes, samples, a storage, and what stands between them."""

from __future__ import annotations

from typing import Any, ClassVar

from course_lib.draw.units import format_bytes
from course_lib.widgets.controls import menu, rate_slider, scale
from course_lib.widgets.stepped import SteppedExplorer
from course_lib.widgets.storage.model import FILE_SAMPLES, GRADIENTS, NODES, STORAGES, InputPath, StorageSetting
from course_lib.widgets.storage.panels import pictures
from course_lib.widgets.storage.way import way_steps

__all__ = ["StorageExplorer"]

_RATES = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]
_SIZES = [digit * 10**power for power in range(3, 9) for digit in (1, 2, 5)]


class StorageExplorer(SteppedExplorer):
    """One step's parts by the model of chapter 11: computed, from figures of the storages that others published. Or one
    request's way through the storage, which play opens.

    Args:
        nodes, samples_per_s, sample_bytes, storage, file_samples, cached_share, readers, gradients, link_bytes_per_s:
            where the controls stand at first. `samples_per_s` is what one node's devices take.
        watched, step: whether a request's way is shown, and how far it is.
    """

    moves: ClassVar = {
        "nodes": [1, 16, 128, 1024],
        "storage": None,
        "file_samples": [1, 20, 100],
        "cached_share": [0.0, 0.5, 1.0],
        "watched": None,
        "step": None,
    }
    rests = "nothing is fetched, for all samples are in a cache"

    def __init__(
        self,
        *,
        nodes: int = 16,
        samples_per_s: float = 10_000,
        sample_bytes: float = 100_000,
        storage: str = "Lustre",
        file_samples: int = 1,
        cached_share: float = 0.0,
        readers: int = 32,
        gradients: str = "ResNet-50, 102 MB",
        link_bytes_per_s: float = 1e10,
        watched: bool = False,
        step: int = 0,
    ) -> None:
        super().__init__(
            lambda **values: pictures(StorageSetting(**values)),
            nodes=scale("nodes", NODES, nodes),
            samples_per_s=scale("samples/s each", _RATES, samples_per_s, "{:,}".format),
            sample_bytes=scale("sample", _SIZES, sample_bytes, format_bytes),
            storage=menu("storage", list(STORAGES), storage),
            file_samples=scale(
                "in a file", FILE_SAMPLES, file_samples, lambda n: f"{n:,} sample{'s' if n > 1 else ''}"
            ),
            cached_share=scale("in a cache", [0.0, 0.25, 0.5, 0.75, 0.9, 1.0], cached_share, "{:.0%}".format),
            readers=scale("readers a node", [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024], readers),
            gradients=menu("gradients", list(GRADIENTS), gradients),
            link_bytes_per_s=rate_slider("a node's link", link_bytes_per_s, 1e8, 1e11),
            watched=menu("watch", {"a step": False, "one request": True}, watched),
            step=step,
        )

    def steps(self, values: dict[str, Any]) -> int:
        """Of a request's way."""
        return way_steps(InputPath(StorageSetting(**values)))

    def opens(self, values: dict[str, Any]) -> dict[str, Any]:
        """The request is what moves."""
        return {} if values["watched"] else {"watched": True}
