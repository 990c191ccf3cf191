"""One request's way through the storage: where it is, with how many others, and how long."""

from __future__ import annotations

import math
from typing import NamedTuple

from course_lib.widgets.storage.model import InputPath

__all__ = ["Place", "moments", "way_of", "way_steps", "whole_seconds"]

# The places in their order, and what a request does there.
_DOES = {
    "queue": "waits for the servers to open its file",
    "open": "has its file opened",
    "bandwidth": "waits for the storage's bandwidth",
    "bytes": "has its bytes under way",
}
_QUEUES = {"opens": "queue", "bandwidth": "bandwidth"}
_STEPS = 8


class Place(NamedTuple):
    """Where a request stands for some seconds, and how many do: Little's law."""

    name: str
    seconds: float
    requests: float

    @property
    def does(self) -> str:
        """What a request does there."""
        return _DOES[self.name]

    @property
    def waits(self) -> bool:
        """For others, in a queue; else it is served."""
        return self.name in _QUEUES.values()


def way_of(path: InputPath) -> list[Place]:
    """The places in their order. What everybody waits for has a queue; if that is not the storage, readers rest."""
    setting, setup = path.setting, path.setup()
    seconds = dict.fromkeys(_DOES, 0.0)
    seconds |= {"open": setup.storage.open_s, "bytes": setup.file_s - setup.storage.open_s}
    files_per_s = path.samples_per_s(setting.machines) * (1 - setting.cached_share) / setting.file_samples
    if path.longest in _QUEUES:
        waited_s = setting.machines * setting.readers / files_per_s - setup.file_s
        seconds[_QUEUES[path.longest]] = max(0.0, waited_s)
    return [Place(name, each_s, each_s * files_per_s) for name, each_s in seconds.items()]


def way_steps(path: InputPath) -> int:
    """Each place takes one step at least, and of eight its share of the time; 0: nothing is fetched."""
    return len(moments(way_of(path))) - 1 if path.setting.cached_share < 1 else 0


def moments(places: list[Place]) -> list[tuple[Place, float]]:
    """At each step where the request is, and which share of its time there is over."""
    counts = {place: math.ceil(_STEPS * place.seconds / whole_seconds(places)) for place in places}
    steps = [(place, step / count) for place, count in counts.items() for step in range(1, count + 1)]
    return [(steps[0][0], 0.0), *steps]


def whole_seconds(places: list[Place]) -> float:
    """Of all these places."""
    return sum(place.seconds for place in places)
