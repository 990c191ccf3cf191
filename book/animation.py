"""A ring's all-reduce that moves where no script runs: the first page's and README's picture.

`python book/animation.py` draws README's, docs/explorer.gif, again.
"""

import io
from pathlib import Path

from PIL import Image

from course_lib.draw.panels import Panel
from course_lib.draw.panels.picture import picture_of
from course_lib.widgets import AllReduceExplorer

STEP_MS = 900
COLORS = 64
NARROW_IN = 3.6
README = Path(__file__).parents[1] / "docs" / "explorer.gif"


def frames(narrow: bool) -> list[Image.Image]:
    """The explorer at each step; narrow are its chunks and bytes alone, below one another, with more pixels."""
    explorer, drawn = AllReduceExplorer(world_size=4), []
    for step in range(explorer.steps(explorer.setting) + 1):
        explorer.set(step=step)
        parts = [part for part in explorer.parts if not isinstance(part, str)]
        panels = [part for part in parts if isinstance(part, Panel)][:2]
        shown = picture_of(panels, alt="", columns=1, width_in=NARROW_IN) if narrow else picture_of(parts, alt="")
        drawn.append(Image.open(io.BytesIO(shown.png(2 if narrow else 1))).convert("RGB"))
    return drawn


def animated(narrow: bool = False) -> bytes:
    """The steps one after the other, again and again, as a GIF. One palette for all keeps what changes small."""
    drawn = frames(narrow)
    together = Image.new("RGB", (drawn[0].width, len(drawn) * drawn[0].height))
    for number, frame in enumerate(drawn):
        together.paste(frame, (0, number * frame.height))
    palette = together.quantize(COLORS)
    first, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in drawn]
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=others, duration=STEP_MS, loop=0, optimize=True)
    return file.getvalue()


if __name__ == "__main__":
    README.write_bytes(animated())
