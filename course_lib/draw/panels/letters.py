"""How much room words need: a panel may be narrow, and no word may lie on another or beyond its panel."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cache, lru_cache

from matplotlib import font_manager
from PIL import ImageFont

__all__ = ["FONT_PX", "FREE_PX", "NARROW_PX", "apart", "reach_px", "touch", "wide_px"]

FONT_PX = 12.0
NARROW_PX = 273.0  # of a panel beside others, at least
FREE_PX = 14.0  # at the right of each drawing, for what reaches beyond it
_GAP_PX = 8.0  # between two words
_FINE = 10  # a font is measured so many times larger


@lru_cache(maxsize=4096)
def wide_px(text: str) -> float:
    """The width of a text in DejaVu Sans, one of the widest fonts that browsers take.

    >>> round(wide_px("10,000"))
    42
    """
    return _font().getlength(text) / _FINE


def apart(ticks: Mapping[float, str], room_px: float) -> dict[float, str]:
    """All ticks (share -> text), or every second, third, ... where their texts would touch in so much room.

    >>> apart({0.0: "0", 0.4: "1000", 0.8: "2000"}, 60)
    {0.0: '0', 0.8: '2000'}
    """
    places = sorted(ticks)
    every = (places[::step] for step in range(1, len(places) + 1))
    few = next((few for few in every if not touch({place: ticks[place] for place in few}, room_px)), [])
    return {place: ticks[place] for place in few}


def touch(ticks: Mapping[float, str], room_px: float) -> bool:
    """Whether two of these texts (share -> text), from left to right, are too close to each other in so much room."""
    ends = [reach_px(place, text, room_px) for place, text in ticks.items()]
    return any(right + _GAP_PX > left for (_, right), (left, _) in itertools.pairwise(ends))


def reach_px(share: float, text: str, room_px: float) -> tuple[float, float]:
    """From where to where a text reaches that is centered at a share of the room, or ends at what is free beside it.

    >>> reach_px(0.5, "", 200), reach_px(1.0, "12345", 200)[1]
    ((100.0, 100.0), 214.0)
    """
    wide = wide_px(text)
    right = min(share * room_px + wide / 2, room_px + FREE_PX)
    return right - wide, right


@cache
def _font() -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(font_manager.findfont("DejaVu Sans"), _FINE * FONT_PX)
