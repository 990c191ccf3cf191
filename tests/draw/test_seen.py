"""What eyes need: contrast in light and dark, colors that all readers tell apart, and no words on lines or marks.

Contrast is WCAG's, computed from relative luminance. A dark page inverts pictures (see `_DARK` in draw/style.py and
book/static/book.css); explorers show their colors as they are.
"""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from pictures_of_chapters import chapter_pictures, every_picture, more_pictures

import course_lib.draw as draw
from course_lib.draw import style
from course_lib.draw.chapters.faults import COST_COLORS
from course_lib.draw.chapters.mesh import STEP_COLORS
from course_lib.draw.chapters.pipeline import PASSES, pass_color
from course_lib.draw.chapters.precision import FIELD_COLORS
from course_lib.draw.colors import (
    CARD,
    COLORS,
    FILLS,
    GRID,
    GROUNDS,
    INK,
    LINES,
    MUTED,
    RANK_COLORS,
    Fill,
    fraction_color,
    ink_on,
    looks_of,
    luminance,
)
from course_lib.draw.panels import drawing
from course_lib.draw.panels.drawing import Polyline
from course_lib.mesh import Mesh
from course_lib.precision import Roofline

DARK_PAGES = {"JupyterLab": "#111111", "the book": "#14181e"}  # their backgrounds behind an explorer
KEPT = 0.92  # of each channel, inverted
# M. Machado, M. Oliveira, L. Fernandes 2009: what those see who lack one kind of cone, of linear RGB.
EYES = {
    "any": np.eye(3),
    "without long cones": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "without middle cones": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "without short cones": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}
APART = 0.035  # in Oklab: two colors that lie side by side are seen to differ from some 0.02 on
GROUPS = {
    **FILLS,
    "parts of a step": {name: Fill(color) for name, color in STEP_COLORS.items()},
    "costs of a failure": {name: Fill(color) for name, color in COST_COLORS.items()},
    "fields of a number": {name: Fill(color) for name, color in FIELD_COLORS.items()},
    "ranks": {str(rank): Fill(color) for rank, color in enumerate(RANK_COLORS)},
    "the palette": {name: Fill(color) for name, color in COLORS.items()},
}
OTHERS = [look.color for look in looks_of([f"name {number}" for number in range(8)]).values()]
STAGES = [pass_color(kind, chunk) for kind in PASSES for chunk in (0, 1)]
USED = sorted(
    {fill.color for group in GROUPS.values() for fill in group.values()}
    | {look.color for looks in LINES.values() for look in looks.values()}
    | {*OTHERS, *STAGES}
)


def channels(color):
    return np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def hexed(rgb):
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in np.clip(rgb, 0, 1))


def inverted(color):
    """What `invert(.92) hue-rotate(180deg)` makes of a color (W3C, "Filter Effects Module Level 1", 2018, 8)."""
    turn = np.array([[-0.574, 1.43, 0.144], [0.426, 0.43, 0.144], [0.426, 1.43, -0.856]])
    return hexed(turn @ np.clip(channels(color) * (1 - 2 * KEPT) + KEPT, 0, 1))


def linear(rgb):
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def seen(color, eyes):
    """A color in Oklab (B. Ottosson 2020), as these eyes see it."""
    light = np.clip(np.array(EYES[eyes]) @ linear(channels(color)), 0, 1)
    cones = np.array([[0.41222, 0.53633, 0.05145], [0.2119, 0.6807, 0.1074], [0.0883, 0.28172, 0.62998]]) @ light
    lab = [[0.21045, 0.79362, -0.00407], [1.978, -2.42859, 0.45059], [0.0259, 0.78277, -0.80868]]
    return np.array(lab) @ np.cbrt(cones)


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def apart(one, other):
    """The distance of two colors to the eyes that tell them apart least, on a light page or a dark one."""
    ways = [(one, other), (inverted(one), inverted(other))]
    return min(float(np.linalg.norm(seen(a, eyes) - seen(b, eyes))) for a, b in ways for eyes in EYES)


def test_the_filter_that_these_tests_compute_is_that_of_the_pages():
    said = re.compile(r"invert\(0?\.92\) hue-rotate\(180deg\)")
    for path in ("book/static/book.css", "course_lib/draw/style.py"):
        assert said.search((Path(__file__).parents[2] / path).read_text(encoding="utf-8")), path
    assert (inverted("#ffffff"), inverted("#000000"), inverted("#0072b2")) == ("#141414", "#ebebeb", "#4cace2")


@pytest.mark.parametrize("color", USED)
def test_every_color_has_a_contrast_of_three_to_one_on_light_and_dark_pages(color):
    assert contrast(color, CARD) >= 3
    assert contrast(inverted(color), inverted(CARD)) >= 3
    for page, behind in DARK_PAGES.items():
        assert contrast(color, behind) >= 3, page


@pytest.mark.parametrize("group", GROUPS)
def test_colors_that_stand_together_are_told_apart_by_all_eyes_or_by_their_hatch(group):
    for (one, a), (other, b) in itertools.combinations(GROUPS[group].items(), 2):
        assert a.hatch != b.hatch or apart(a.color, b.color) >= APART, (
            f"{one} and {other}: {apart(a.color, b.color):.3f}"
        )


def test_inverted_each_color_is_nearer_to_itself_than_to_any_other():
    for name, color in COLORS.items():
        away = {
            other: np.linalg.norm(seen(inverted(color), "any") - seen(each, "any")) for other, each in COLORS.items()
        }
        assert min(away, key=away.get) == name


def test_words_read_on_every_fill_in_both_themes():
    for fill in [*USED, *GROUNDS.values(), *(fraction_color(part / 20) for part in range(21))]:
        ink = ink_on(fill)
        assert contrast(ink, fill) >= 4, fill
        assert contrast(inverted(ink), inverted(fill)) >= 4, fill


@pytest.fixture(scope="module")
def pictures():
    return {**every_picture(), **chapter_pictures(), **more_pictures()}


@pytest.fixture(scope="module")
def words(pictures):
    return {name: drawn(picture) for name, picture in pictures.items()}


def filled(picture):
    """The colors of all that is filled in a picture, and not seen through."""
    found = set()
    for axes in picture.axes:
        for each in [*axes.patches, *axes.collections]:
            if (each.get_alpha() or 1) == 1 and each.get_visible():
                faces = np.atleast_2d(each.get_facecolor())
                found |= {to_hex(face) for face in faces if len(face) and face[-1]}
    return found


def test_what_pictures_fill_has_the_contrast_or_is_a_ground_or_a_share(pictures):
    free = {
        CARD,
        INK,
        "#000000",
        "#3a3a3a",
        MUTED,
        *GROUNDS.values(),
    }  # black and nearly black: dark pages make it light
    scale = np.array([channels(fraction_color(part / 500)) for part in range(501)])  # a cell's words say its share, too
    for name, picture in pictures.items():
        for color in filled(picture) - free:
            if np.abs(scale - channels(color)).max(axis=1).min() < 2 / 255:
                continue
            assert contrast(color, CARD) >= 3, (name, color)
            assert contrast(inverted(color), inverted(CARD)) >= 3, (name, color)


def drawn(picture):
    """The boxes of all words that are drawn, in pixels, with their words."""
    found, draw_text = [], Text.draw

    def noted(text, renderer, *args, **kwargs):
        if text.get_visible() and text.get_text().strip():
            found.append((text, text.get_window_extent(renderer)))
        return draw_text(text, renderer, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", noted)
        style.styled(lambda: FigureCanvasAgg(picture).draw())()
    return found


def marks_and_lines(picture):
    """What no words may lie on, in pixels: symbols as boxes, lines as points; not the thin lines at ticks. Each with
    its place from back to front."""
    point = picture.dpi / 72
    for axes in picture.axes:
        for line in axes.lines:
            if to_hex(line.get_color()) == GRID or line.get_alpha() == 0 or line.get_color() == "none":
                continue
            places = line.get_transform().transform(line.get_xydata())
            if line.get_marker() not in ("None", "", None):
                half = line.get_markersize() * point / 2
                yield from ((Bbox.from_extents(x - half, y - half, x + half, y + half), line.zorder) for x, y in places)
            elif line.get_linestyle() not in ("None", ""):
                yield places, line.zorder


def boxes(picture):
    """All filled boxes in pixels, each with its place from back to front."""
    for axes in picture.axes:
        for patch in axes.patches:
            if patch.get_facecolor()[-1] == 1:
                yield patch.get_window_extent(), patch.zorder
        for collection in axes.collections:
            if isinstance(collection, PolyCollection) and (collection.get_alpha() or 1) == 1:
                for path in collection.get_paths():
                    yield path.get_extents(collection.get_transform()), collection.zorder


def crosses(places, box):
    """Whether a line through these places comes into a box."""
    inner = Bbox.from_extents(box.x0 + 1, box.y0 + 2, box.x1 - 1, box.y1 - 2)
    steps = [np.linspace(a, b, 2 + int(np.abs(b - a).max())) for a, b in itertools.pairwise(places)]
    if not steps or inner.width <= 0 or inner.height <= 0:
        return False
    all_places = np.concatenate(steps)
    return bool(((all_places > inner.min) & (all_places < inner.max)).all(axis=1).any())


def lies_on(box, thing):
    if isinstance(thing, Bbox):
        across, down = min(box.x1, thing.x1) - max(box.x0, thing.x0), min(box.y1, thing.y1) - max(box.y0, thing.y0)
        return across > 1 and down > 2
    return crosses(thing, box)


def test_no_text_lies_on_another_or_is_small_or_leaves_the_page(pictures, words):
    for name, picture in pictures.items():
        assert picture.get_figwidth() <= style.PAGE_IN + 1e-9, name  # what is wider is shown smaller
        for text, box in words[name]:
            assert text.get_fontsize() >= 9, (name, text)
            assert min(box.x0, box.y0, picture.bbox.x1 - box.x1 - 2, picture.bbox.y1 - box.y1) > -1, (name, text)
        for (one, a), (other, b) in itertools.combinations(words[name], 2):
            across, down = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
            assert across <= 1 or down <= 2, f"{name}: {one.get_text()!r} lies on {other.get_text()!r}"


def test_no_words_lie_on_a_mark_or_a_line(pictures, words):
    for name, picture in pictures.items():
        things, behind = list(marks_and_lines(picture)), list(boxes(picture))
        for text, box in words[name]:
            said = text.get_text()
            if said.strip("▲▼◀▶") and text.get_gid() not in ("origin", "note"):
                x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
                covered = max((order for each, order in behind if each.contains(x, y)), default=-1)
                on = [thing for thing, order in things if order > covered and lies_on(box, thing)]
                assert not on, f"{name}: {said!r} lies on a line or a mark"


def test_titles_say_what_the_data_say():
    fit = draw.draw_alpha_beta_fit([1024, 4096], [1e-4, 1.1e-4], 1e-4, 2e8).panels[0]
    assert fit.title == "Up to 20 kB the latency is most of the time of one message"
    without = draw.draw_alpha_beta_fit([1024, 4096], [1e-4, 1.1e-4], 0.0, 2e8).panels[0]
    assert without.title == "Bytes alone take the time of one message"
    roofs = {"add": (0.1, 1e9), "product": (100.0, 90e9)}
    assert draw.draw_roofline(Roofline(100e9, 20e9), roofs).panels[0].title.startswith("1 of 2 operations lie below")


@pytest.mark.parametrize(
    ("ranks_per_node", "title"),
    [
        (8, "No group leaves its node"),
        (4, "Groups of data parallelism leave their nodes"),
        (3, "Groups of all kinds leave their nodes"),
    ],
)
def test_the_mesh_says_which_groups_leave_a_node(ranks_per_node, title):
    mesh = Mesh(1, 2, 1) if ranks_per_node == 8 else Mesh(2, 2, 2)
    assert draw.draw_mesh(mesh, ranks_per_node=ranks_per_node).get_suptitle() == title


def test_words_that_a_limit_would_go_through_stand_behind_it():
    bars = {"below": {"parameters": 24e9}, "far": {"parameters": 161e9}}
    panel = draw.draw_memory_bars(bars, limits={"limit": 32e9}).panels[0]
    shapes = panel.drawing(700.0).shapes
    (value,) = [shape for shape in shapes if isinstance(shape, drawing.Text) and shape.text == "24 GB"]
    (line,) = [shape for shape in shapes if isinstance(shape, Polyline) and shape.dash == (6, 3)]
    assert value.x == line.points[0][0]
