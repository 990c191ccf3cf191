"""The storage explorer: machines, samples, a storage, and what stands between them."""

from __future__ import annotations

from typing import Any, ClassVar

from course_lib.draw.units import format_bytes
from course_lib.widgets.controls import explain, menu, scale
from course_lib.widgets.stepped import SteppedExplorer
from course_lib.widgets.storage.model import FILE_SAMPLES, LOCAL, MACHINES, STORAGES, InputPath, StorageSetting
from course_lib.widgets.storage.panels import pictures
from course_lib.widgets.storage.way import way_steps

__all__ = ["StorageExplorer"]

_RATES = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]
_OPENS = [digit * 10**power for power in (3, 4, 5) for digit in (1, 2, 5)]
_READERS = [1, 2, 4, 8, 16, 34, 64, 128, 256, 512, 1024, 2048, 4096]
_SIZES = [digit * 10**power for power in range(3, 9) for digit in (1, 2, 5)]


class StorageExplorer(SteppedExplorer):
    """How many of a machine's eight GPUs are busy, by the model of chapter 11: computed. Or one request's way through
    the storage, which play opens.

    Args:
        machines, samples_per_s, sample_bytes, storage, opens_per_s, file_samples, cached_share, readers: where the
            controls stand at first. `samples_per_s` is what the GPUs of one machine take.
        watched, step: whether a request's way is shown, and how far it is.
    """

    moves: ClassVar = {
        "machines": [1, 16, 128],
        "readers": [1, 34],
        "file_samples": [1, 12, 200],
        "cached_share": [0.0, 0.5],
        "watched": None,
        "step": None,
    }
    rests = "nothing is fetched, for all samples are in a cache"

    def __init__(
        self,
        *,
        machines: int = 1,
        samples_per_s: float = 14_286,
        sample_bytes: float = 114_660,
        storage: str = "Lustre",
        opens_per_s: float = 20_000,
        file_samples: int = 1,
        cached_share: float = 0.0,
        readers: int = 1,
        watched: bool = False,
        step: int = 0,
    ) -> None:
        super().__init__(
            lambda **values: pictures(StorageSetting(**values)),
            machines=scale("machines", MACHINES, machines),
            readers=scale("readers of each", _READERS, readers, "{:,}".format),
            file_samples=scale("in a file", FILE_SAMPLES, file_samples, _samples),
            cached_share=scale("in a cache", [0.0, 0.25, 0.5, 0.75, 0.9, 1.0], cached_share, "{:.0%}".format),
            storage=menu("storage", list(STORAGES), storage),
            opens_per_s=scale("opens/s of all", _OPENS, opens_per_s, "{:,}".format),
            samples_per_s=scale("samples/s of each", _RATES, samples_per_s, "{:,}".format),
            sample_bytes=scale("sample", _SIZES, sample_bytes, format_bytes),
            watched=menu("watch", {"a step": False, "one request": True}, watched),
            step=step,
        )

    def prepare(self) -> None:
        """A machine's own disk has its own limit."""
        explain(self.controls["opens_per_s"], self.controls["storage"].value == LOCAL, "each machine has a disk")
        super().prepare()

    def steps(self, values: dict[str, Any]) -> int:
        """Of a request's way."""
        return way_steps(InputPath(StorageSetting(**values)))

    def opens(self, values: dict[str, Any]) -> dict[str, Any]:
        """The request is what moves."""
        return {} if values["watched"] else {"watched": True}


def _samples(count: int) -> str:
    return f"{count:,} sample{'s' if count > 1 else ''}"
