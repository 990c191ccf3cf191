"""How every picture looks: blank pictures, the origin label, the text alternative.

Also boxes, arrows and captions, which schematic pictures are made of.
"""

from __future__ import annotations

import base64
import functools
import io
import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, ParamSpec

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from PIL import Image

from course_lib.draw.colors import (
    CARD,
    COLORS,
    GRID,
    GROUNDS,
    INK,
    MUTED,
    ink_on,
)

ORIGINS = ("measured", "emulated", "simulated", "computed", "published", "schematic")  # the last one has no numbers

# Of the images on a page only our own say that they need a light background. Hues stay as they are.
_DARK = "[data-jp-theme-light=false] img.jp-needs-light-background{filter:invert(.92) hue-rotate(180deg)}"
IN_WORDS = "in-words"  # the class of words that repeat an `alt`
_RC = {
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#8a8a8a",
    "axes.facecolor": CARD,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.fontsize": 9.0,
    "legend.frameon": False,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "hatch.linewidth": 0.7,
    "figure.facecolor": CARD,
    "savefig.facecolor": CARD,
}
PAGE_IN = 7.7  # a page is as wide; what is wider is shown smaller, its text too
_DPI = 110
_STORED = 2  # times as many pixels each way in what a notebook keeps: sharp on a screen of two pixels a point
_STRIP_IN = 0.27  # height of the strip at the bottom that holds the origin label


_Arguments = ParamSpec("_Arguments")


class Picture(Figure):
    """A Figure that shows itself in a notebook; `alt` says in words what it shows, `panels` are what it was made of,
    `narrow` is the same as HTML for narrow pages, where there is one."""

    alt = ""
    narrow = ""
    origin = ""
    panels: Sequence[Any] = ()

    def png(self, scale: int = 1) -> bytes:
        """The picture as a PNG, quickly."""
        buffer = io.BytesIO()
        with matplotlib.rc_context(_RC):
            self.savefig(buffer, format="png", dpi=scale * _DPI, metadata={"Software": None})
        return buffer.getvalue()

    def small_png(self) -> bytes:
        """The same with more pixels and at most 128 colors, a third of the size, for notebooks to store."""
        buffer = io.BytesIO()
        image = Image.open(io.BytesIO(self.png(_STORED))).convert("RGB")
        image.quantize(128, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
        return buffer.getvalue()

    def bundle(self) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """The picture as a notebook stores it, data and metadata: as wide on the page as without the more pixels.

        The metadata keep what the book shows on a phone, packed.
        """
        image = base64.b64encode(self.small_png()).decode("ascii")
        shown: dict[str, Any] = {"alt": self.alt, "width": int(self.get_figwidth() * _DPI)}
        if self.narrow:
            shown["narrow"] = packed(self.narrow)
        return {"image/png": image, "text/plain": self.alt}, {"image/png": shown, "needs_background": "light"}

    def _ipython_display_(self) -> None:
        """Show the picture, and its words below: JupyterLab gives a PNG an empty `alt`."""
        from IPython.display import display

        data, metadata = self.bundle()
        display(data, metadata=metadata, raw=True)
        display({"text/html": words_below(self.alt)}, raw=True)


def packed(text: str) -> str:
    """A text compressed to ASCII characters; `unpacked` restores it."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")


def unpacked(characters: str) -> str:
    """The text of `packed`."""
    return zlib.decompress(base64.b64decode(characters)).decode()


def words_below(alt: str) -> str:
    """A picture's text alternative as folded HTML to stand below it, with the style that inverts it on a dark page."""
    look = "font-size:90%;color:var(--jp-content-font-color2,#5a5a5a);max-width:43em"
    words = f'<details class="{IN_WORDS}" style="{look}"><summary>in words</summary>{escape(alt)}</details>'
    return f"<style>{_DARK}</style>{words}"


def alt_text(picture: Figure) -> str:
    """A picture's text alternative: what it shows, in words, for those who do not see it."""
    return getattr(picture, "alt", "")


def styled(draw: Callable[_Arguments, Picture]) -> Callable[_Arguments, Picture]:
    """Run a draw function under the course's style, leaving matplotlib's own settings as they were."""

    @functools.wraps(draw)
    def styled_draw(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Picture:
        with matplotlib.rc_context(_RC):
            return draw(*args, **kwargs)

    return styled_draw


def new_picture(
    width_in: float = 7.4, height_in: float = 4.0, rows: int = 1, columns: int = 1, **grid: Any
) -> tuple[Any, ...]:
    """A blank picture and its axes (one, or an array), with room at the bottom for the origin label."""
    height_in += _STRIP_IN
    picture = Picture(figsize=(width_in, height_in), layout="constrained")
    strip = _STRIP_IN / height_in
    picture.get_layout_engine().set(rect=(0, strip, 1, 1 - strip - 0.05 / height_in), w_pad=0.06, h_pad=0.06)
    return picture, picture.subplots(rows, columns, **grid)


def new_panels(
    count: int, most: int, width_in: float, height_in: float, above_in: float, **grid: Any
) -> tuple[Picture, list[Any]]:
    """A blank picture of so many panels of a size, at most `most` in a row, and their axes; `above_in` is left free."""
    columns = min(count, most)
    rows = -(-count // columns)
    picture, axes = new_picture(columns * width_in, above_in + rows * height_in, rows, columns, squeeze=False, **grid)
    for unused in axes.flat[count:]:
        unused.set_visible(False)
    return picture, list(axes.flat[:count])


def put_title(picture: Picture, title: str) -> None:
    """A title over all panels, if there is one."""
    if title:
        picture.suptitle(title, fontsize=11, fontweight="bold", x=0.01, ha="left")


def finish(picture: Picture, *, origin: str, alt: str, note: str = "") -> Picture:
    """Give a picture its origin label (bottom right), a note beside it (bottom left) and its text alternative.

    Raises:
        ValueError: if no word of `origin` is one of ORIGINS.
    """
    if not any(word in origin for word in ORIGINS):
        raise ValueError(f"origin must name one of {', '.join(ORIGINS)}, got {origin!r}")
    label = {"boxstyle": "round,pad=0.3", "facecolor": "#eeeeee", "edgecolor": "none"}
    inset = 0.09 / picture.get_figwidth()
    bottom = 0.09 / picture.get_figheight()
    picture.text(1 - inset, bottom, origin, ha="right", va="bottom", fontsize=9, color=INK, bbox=label, gid="origin")
    if note:
        picture.text(inset, bottom, note, ha="left", va="bottom", fontsize=9, color=MUTED, gid="note")
    picture.alt, picture.origin = f"{alt} ({origin})", origin
    return picture


def trace_of(execution: Any) -> Any:
    """The Trace of a Report, or the Trace itself."""
    return getattr(execution, "trace", execution)


def origin_of(execution: Any, origin: str | None) -> str:
    """Where numbers come from: what the caller says, else what the Report says, else simulated."""
    return origin or str(getattr(execution, "origin", "simulated"))


def origins_of(executions: Iterable[Any], origin: str | None = None) -> str:
    """The same for several Reports or histories: each origin that occurs, once; those that say none are simulated."""
    return origin or ", ".join(dict.fromkeys(origin_of(execution, None) for execution in executions))


def every(count: int, most: int) -> range:
    """At most `most` of the numbers below `count`, from 0 on in equal steps; for the ticks of an axis.

    >>> list(every(4, 8)), list(every(9, 5))
    ([0, 1, 2, 3], [0, 2, 4, 6, 8])
    """
    return range(0, count, -(-count // most) or 1)


def spread(count: int, most: int) -> list[int]:
    """At most `most` of the numbers below `count`, evenly spread, both ends among them.

    >>> spread(4, 8), spread(9, 3)
    ([0, 1, 2, 3], [0, 4, 8])
    """
    if count <= most:
        return list(range(count))
    return [math.floor(i * (count - 1) / (most - 1) + 0.5) for i in range(most)]


def empty(axes: Axes, width: float, height: float) -> Axes:
    """Make axes an empty canvas of this size, without ticks or frame, origin at the lower left."""
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    axes.set_axis_off()
    return axes


def block(
    axes: Axes, x: float, y: float, width: float, height: float, color: str, text: str = "", size: float = 9
) -> None:
    """A filled box with a word in it."""
    axes.add_patch(Rectangle((x, y), width, height, facecolor=color, edgecolor="white", linewidth=1.2))
    if text:
        axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=size, color=ink_on(color))


def frame(axes: Axes, x: float, y: float, width: float, height: float, text: str) -> None:
    """A rounded box round other things, its name below the upper edge."""
    style = "round,pad=0,rounding_size=0.12"
    look = {"facecolor": GROUNDS["nothing"], "edgecolor": COLORS["gray"], "zorder": 0}
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, **look))
    axes.text(x + width / 2, y + height - 0.08, text, ha="center", va="top", fontsize=9, color=INK)


def arrow(axes: Axes, start: tuple[Any, ...], end: tuple[Any, ...], *, both: bool = False, color: str = INK) -> None:
    """An arrow from start to end."""
    look = {"mutation_scale": 11, "color": color, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle="<|-|>" if both else "-|>", **look))


def caption(axes: Axes, x: float, y: float, text: str, *, ha: str = "center", bold: bool = False) -> None:
    """Text on the axes."""
    look = {"fontsize": 9.5, "color": INK, "fontweight": "bold"} if bold else {"fontsize": 9, "color": MUTED}
    axes.text(x, y, text, ha=ha, va="center", **look)
