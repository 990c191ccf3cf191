"""One request's way through the storage, to be played: where it is, with how many others, and how long."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Sketch, Table
from course_lib.draw.panels.drawing import FAINT, Boxes, Key, Ring, Shape, Text
from course_lib.draw.units import format_count, format_seconds, format_share

if TYPE_CHECKING:
    from course_lib.widgets.storage import InputPath

# The places in their order, and what a request does there.
_DOES = {
    "queue": "waits for the servers to open its file",
    "open": "has its file opened",
    "bandwidth": "waits for the storage's bandwidth",
    "bytes": "has its bytes under way",
}
_QUEUES = {"opens": "queue", "bandwidth": "bandwidth"}
_STEPS = 8


class StorageStop(NamedTuple):
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


def way_of(path: InputPath) -> list[StorageStop]:
    """The places in their order. What everybody waits for has a queue; if that is not the storage, readers rest."""
    setting, setup = path.setting, path.setup()
    seconds = dict.fromkeys(_DOES, 0.0)
    seconds |= {"open": setup.storage.open_s, "bytes": setup.file_s - setup.storage.open_s}
    files_per_s = path.samples_per_s(setting.machines) * (1 - setting.cached_share) / setting.file_samples
    if path.longest in _QUEUES:
        waited_s = setting.machines * setting.readers / files_per_s - setup.file_s
        seconds[_QUEUES[path.longest]] = max(0.0, waited_s)
    return [StorageStop(name, each_s, each_s * files_per_s) for name, each_s in seconds.items()]


def way_steps(path: InputPath) -> int:
    """Each place takes one step at least, and of eight its share of the time; 0: nothing is fetched."""
    return len(moments(way_of(path))) - 1 if path.setting.cached_share < 1 else 0


def moments(places: list[StorageStop]) -> list[tuple[StorageStop, float]]:
    """At each step where the request is, and which share of its time there is over."""
    counts = {place: math.ceil(_STEPS * place.seconds / whole_seconds(places)) for place in places}
    steps = [(place, step / count) for place, count in counts.items() for step in range(1, count + 1)]
    return [(steps[0][0], 0.0), *steps]


def whole_seconds(places: list[StorageStop]) -> float:
    """Of all these places."""
    return sum(place.seconds for place in places)


# Its picture: places with all requests that are there, and a bar of its time.

_COLORS = {True: COLORS["vermillion"], False: COLORS["sky"]}  # of who waits in a queue, and of who is served
_TOP, _HIGH = 24.0, 100.0
_BOTTOM, _BAR = _TOP + _HIGH, 14.0
_ACROSS, _DOWN = 5, 10  # squares of a place; each stands for as many requests as let all of them fit


def way_pictures(path: InputPath) -> list[str | Table | Sketch]:
    """What is shown of the way: in words, in numbers, as places with their requests and a bar of its time."""
    places, setting = way_of(path), path.setting
    steps = moments(places)
    place, share = steps[min(setting.step, len(steps) - 1)]
    passed_s = whole_seconds(places[: places.index(place)]) + share * place.seconds
    words, in_flight = describe_way(places, place, passed_s), sum(each.requests for each in places)
    facts = {
        "requests a second": f"{in_flight / whole_seconds(places):,.0f}",
        "one takes": format_seconds(whole_seconds(places)),
        "their product, in flight": f"{in_flight:,.0f}",
        "readers": f"{setting.machines * setting.readers:,}",
    }
    unit = max(1, math.ceil(max(each.requests for each in places) / (_ACROSS * _DOWN)))
    sketch = Sketch(
        title=f"Where all requests are; a square: {format_count(unit, 'request')}",
        origin="computed",
        label=f"{words} In flight: {', '.join(f'{each.name} {_number(each)}' for each in places)}.",
        wide=True,
        shapes=[*_squares(places, place, share, unit), *_bar(places, passed_s)],
        height_px=_BOTTOM + 54,
        keys=[Key("waits in a queue", _COLORS[True]), Key("is served", _COLORS[False])],
    )
    return [words, sketch, Table(facts, "computed")]


def describe_way(places: list[StorageStop], place: StorageStop, passed_s: float) -> str:
    """Where the request is, in words."""
    others, whole_s = format_count(max(0, round(place.requests) - 1), "other"), whole_seconds(places)
    waited = format_share(sum(each.seconds for each in places if each.waits) / whole_s)
    now = f"After {format_seconds(passed_s)} of {format_seconds(whole_s)} a request {place.does}, with {others}."
    return f"{now} Of its time {waited} is waiting in a queue."


def _number(place: StorageStop) -> str:
    if place.requests < 0.95:
        return f"{place.requests:.1g}"
    return f"{place.requests:,.0f}" if place.requests < 1e5 else f"{place.requests / 1e3:,.0f} k"


def _squares(places: list[StorageStop], now: StorageStop, share: float, unit: int) -> list[Shape]:
    """A heap of squares for each place; the request comes on top and sinks."""
    shapes: list[Shape] = []
    side, wide = _HIGH / _DOWN, 0.8 / len(places) / _ACROSS
    for number, place in enumerate(places):
        squares, middle = math.ceil(place.requests / unit - 1e-9), (number + 0.5) / len(places)
        corners = [(middle - 0.4 / len(places) + n % _ACROSS * wide, n // _ACROSS + 1) for n in range(squares)]
        boxes = [(left, _BOTTOM - row * side, wide * 0.85, side * 0.85) for left, row in corners]
        shapes += [Text(middle, 8, place.name, bold=place is now), Boxes(boxes, _COLORS[place.waits])]
        shapes.append(Text(middle, _BOTTOM + 10, _number(place), color=FAINT))
        if place is now:
            above = max(0, math.ceil(squares / _ACROSS) - 1) * (1 - share)
            shapes.append(Ring(middle, _BOTTOM - (above + 0.5) * side))
    return shapes


def _bar(places: list[StorageStop], passed_s: float) -> list[Shape]:
    """The request's time, place by place; pale what is still to come."""
    whole_s, y = whole_seconds(places), _BOTTOM + 22
    shapes: list[Shape] = []
    for number, place in enumerate(places):
        before_s = whole_seconds(places[:number])
        for seconds, opacity in ((place.seconds, 0.35), (min(max(passed_s - before_s, 0.0), place.seconds), 1.0)):
            box = before_s / whole_s, y, seconds / whole_s, _BAR
            shapes.append(Boxes([box], _COLORS[place.waits], opacity=opacity))
    ends = [
        Text(0, y + _BAR + 10, "0 s", "start", FAINT),
        Text(1, y + _BAR + 10, format_seconds(whole_s), "end", FAINT),
    ]
    return [*shapes, *ends]
