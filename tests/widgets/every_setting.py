"""All explorers there are, moved to any settings, and what is wrong with what they show there."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import json
import random
import re
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import ipywidgets

import course_lib.widgets
from course_lib.draw.panels import Panel
from course_lib.draw.panels.drawing import FREE_PX, NARROW_PX, Text, text_width_px
from course_lib.widgets import Explorer
from course_lib.widgets.controls import Bits
from course_lib.widgets.pages import explorer_of

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
MAKES_ONE = re.compile(r"(?<!\w)Explorer\(")
MAX_S, MAX_BYTES = 1.0, 200e6  # processor time and memory of a picture
ROOMS_PX = (NARROW_PX, 315.0, 420.0, 618.0)  # of a panel, on screens from small to large
HIGH_PX = 10.0  # of a line of letters
NO_NUMBER = re.compile(r"(?<![\w-])(?:nan|inf|infinity|None)(?!\w)|(?<![\w.,])-?0\.0+(?![\d%])")
NO_PLACE = re.compile(r'[ "ML-](?:nan|inf)[ "%a-zA-Z]')


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float
    text: str


class TooLong(BaseException):
    """No explorer catches it."""


@functools.cache
def explorers() -> dict[str, Callable[[], Explorer]]:
    """Every class of explorers that the library offers, and every explorer that a page makes for itself."""
    found: dict[str, Callable[[], Explorer]] = {
        name: getattr(course_lib.widgets, name) for name in course_lib.widgets.EXPLORERS
    }
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        cells = ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
        for place, cell in enumerate(cells):
            if MAKES_ONE.search(cell):
                found[f"page {path.stem[:2]}, cell {place}"] = functools.partial(
                    explorer_of, cell, tuple(cells[:place])
                )
    return found


def choices(control: ipywidgets.Widget) -> list[Any]:
    """What a control may say now, in its order."""
    if isinstance(control, Bits):
        count = len(control.value)
        return [f"{number:0{count}b}" for number in range(0, 2**count, 1 + 2**count // 997)] + ["1" * count]
    if hasattr(control, "options"):
        return [option[1] if isinstance(option, tuple) else option for option in control.options]
    return list(range(control.min, control.max + 1, control.step))


def settings(names: list[str], count: int, seed: int) -> Iterator[dict[str, float]]:
    """Where controls are moved to, as shares of their choices: all ends, all pairs of ends if there is room, then at
    random, half of the time to an end."""
    draw = random.Random(seed)
    ends = [{name: end} for name in names for end in (0.0, 1.0)]
    pairs = [one | other for one, other in itertools.combinations(ends, 2) if len(one | other) == 2]
    first = [*ends, *(pairs if len(pairs) < count else [])]
    yield from first
    for _ in range(count - len(first)):
        yield {name: draw.choice((0.0, 1.0, draw.random(), draw.random())) for name in names}


def move(explorer: Explorer, setting: dict[str, float]) -> list[str]:
    """Put an explorer there, all else as at first; what is wrong then."""
    before, start_s = peak_bytes(), time.thread_time()
    with uncollected():
        with explorer.holding():
            explorer.reset.click()
            offered = {name: choices(explorer.controls[name]) for name in setting}
            explorer.set(
                **{name: offered[name][round(share * (len(offered[name]) - 1))] for name, share in setting.items()}
            )
        seconds, grown = time.thread_time() - start_s, peak_bytes() - before
    found = [f"{seconds:.1f} s"] if seconds > MAX_S else []
    found += [f"{grown / 1e6:.0f} MB"] if grown > MAX_BYTES else []
    return found + faults(explorer)


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No collection meanwhile: it looks at all that other tests of this process have left, which may take a second."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def faults(explorer: Explorer) -> list[str]:
    """What is wrong with what an explorer shows now."""
    if explorer.problem is not None:
        return [f"{type(explorer.problem).__name__}: {explorer.problem}"]
    found = [f"{match[0]!r} in {explorer.in_words!r}" for match in [NO_NUMBER.search(explorer.in_words)] if match]
    found += [f"{match[0]} in a picture" for view in explorer.views if (match := NO_PLACE.search(view.value))]
    for part in explorer.parts:
        if isinstance(part, Panel):
            found += [f"{part.title!r}: {fault}" for fault in crowded(part)]
    return found


def crowded(panel: Panel) -> list[str]:
    """Labels of a panel that lie on each other or reach beyond it, on any screen."""
    drawing = panel.drawing()
    texts = [each for each in drawing.shapes if isinstance(each, Text) and each.text]
    found = []
    for wide in ROOMS_PX:
        room = wide - FREE_PX - drawing.left_px
        boxes = [_box(words, drawing.left_px, room) for words in texts if words.from_px <= room]
        found += [f"{b.text!r} ends at {b.right:.0f} of {wide:.0f}" for b in boxes if b.right > wide + 1]
        found += [f"{b.text!r} begins at {b.left:.0f}" for b in boxes if b.left < -1]
        found += [f"{b.text!r} is not in its height" for b in boxes if b.top < -3 or b.bottom > drawing.height_px]
        found += [f"{one.text!r} on {other.text!r}" for one, other in _overlapping(boxes)]
    return found


def _overlapping(boxes: list[Box]) -> Iterator[tuple[Box, Box]]:
    """Pairs of labels; two arrowheads may lie on each other."""
    rows = sorted(boxes, key=lambda box: box.top)
    for place, one in enumerate(rows):
        for other in itertools.takewhile(lambda other, one=one: other.top < one.bottom, rows[place + 1 :]):
            if one.left < other.right and other.left < one.right and {one.text, other.text} - {"▲", "▼"}:
                yield one, other


def _box(words: Text, left_px: float, room_px: float) -> Box:
    wide = text_width_px(words.text)
    start = left_px + words.x * room_px + words.dx_px - wide * {"start": 0, "middle": 0.5, "end": 1}[words.anchor]
    return Box(start, words.y - HIGH_PX / 2, start + wide, words.y + HIGH_PX / 2, words.text)


def peak_bytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def faults_of(name: str, count: int, seed: int = 0) -> dict[str, dict[str, Any]]:
    """What is wrong with an explorer in so many settings: fault -> the values with which it was seen first."""
    explorer = explorers()[name]()
    found: dict[str, dict[str, Any]] = {}

    def stop(_: int, __: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        for setting in settings(list(explorer.controls), count, seed):
            signal.setitimer(signal.ITIMER_VIRTUAL, 5 * MAX_S)
            try:
                wrong = move(explorer, setting)
            except TooLong:
                wrong = [f"more than {5 * MAX_S:g} s"]
            for fault in wrong:
                found.setdefault(fault, explorer.values)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return found
