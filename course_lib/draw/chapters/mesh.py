"""Ranks as points of a mesh (a panel a copy, a row a stage, a column a tensor rank), and what plans cost, by parts."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch

from course_lib.draw.colors import COLORS, MUTED, RANK_COLORS
from course_lib.draw.panels import Bars, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import PAGE_IN, Picture, arrow, block, caption, empty, finish, new_picture, put_title, styled
from course_lib.mesh import STEP_PARTS, Mesh
from course_lib.mesh.coordinates import At

_COLORS = [COLORS[name] for name in ("blue", "sky", "orange", "plum", "purple", "green", "gray", "vermillion")]
STEP_COLORS = dict(zip(STEP_PARTS, _COLORS, strict=True))

_WIDTH = 1.5
_HEIGHT = 0.7
_GAP = 0.55
_BETWEEN = 1.1


@styled
def draw_mesh(mesh: Mesh, ranks_per_node: int) -> Picture:
    """All ranks of a small mesh: who is whose neighbor in each dimension, and one color a node.

    Raises:
        ValueError: unless the mesh has three dimensions, of 1 to 4 ranks each, and no more nodes than there are colors.
    """
    nodes = -(-mesh.world_size // ranks_per_node)
    if max(mesh.shape) > 4 or len(mesh.shape) > 3 or nodes > len(RANK_COLORS):
        room = f"three dimensions of 4 ranks and {len(RANK_COLORS)} nodes"
        raise ValueError(f"the picture has room for {room}, got {mesh.shape} on {nodes} nodes")
    copy_width = mesh.tensor * (_WIDTH + _GAP) - _GAP
    wide = mesh.data * (copy_width + _BETWEEN) - _BETWEEN + 1.7
    high = mesh.pipeline * (_HEIGHT + _GAP) - _GAP + 1.3
    picture, axes = new_picture(PAGE_IN, PAGE_IN * high / wide)
    empty(axes, wide, high)
    for stage in range(mesh.pipeline):
        caption(axes, 0.75, _bottom(mesh, stage) + _HEIGHT / 2, f"stage {stage}")
    for copy in range(mesh.data):
        caption(axes, 1.6 + copy * (copy_width + _BETWEEN) + copy_width / 2, high - 0.5, f"data {copy}")
    for rank in range(mesh.world_size):
        _point(axes, mesh, mesh.coordinates(rank), ranks_per_node)
    put_title(picture, _finding(mesh, ranks_per_node))
    note = "solid: tensor, in every layer; arrows: pipeline; dotted: data; one color a node"
    return finish(picture, origin="schematic", alt=_describe(mesh, ranks_per_node), note=note)


def _bottom(mesh: Mesh, stage: int) -> float:
    return (mesh.pipeline - 1 - stage) * (_HEIGHT + _GAP) + 0.15


def _left(mesh: Mesh, at: At) -> float:
    copy_width = mesh.tensor * (_WIDTH + _GAP) - _GAP
    return 1.6 + at.data * (copy_width + _BETWEEN) + at.tensor * (_WIDTH + _GAP)


def _point(axes: Axes, mesh: Mesh, at: At, ranks_per_node: int) -> None:
    """One rank, and its links to the next rank of each dimension."""
    rank = mesh.rank_at(at)
    x = _left(mesh, at)
    y = _bottom(mesh, at.pipeline)
    block(axes, x, y, _WIDTH, _HEIGHT, RANK_COLORS[rank // ranks_per_node], f"rank {rank}")
    if at.tensor < mesh.tensor - 1:
        axes.plot([x + _WIDTH, x + _WIDTH + _GAP], [y + _HEIGHT / 2] * 2, color="black", linewidth=2.5)
    if at.data < mesh.data - 1:
        there = _left(mesh, at._replace(data=at.data + 1))
        look = {"arrowstyle": "-", "connectionstyle": "arc3,rad=-0.1", "linestyle": ":", "shrinkA": 0, "shrinkB": 0}
        ends = (x + _WIDTH / 2, y + _HEIGHT), (there + _WIDTH / 2, y + _HEIGHT)
        axes.add_patch(FancyArrowPatch(*ends, color=MUTED, linewidth=1.4, **look))
    if at.pipeline < mesh.pipeline - 1:
        arrow(axes, (x + _WIDTH / 2, y - 0.04), (x + _WIDTH / 2, y - _GAP + 0.04))


def _finding(mesh: Mesh, ranks_per_node: int) -> str:
    """Which groups leave a node."""
    leaving = [name for name in mesh.order if mesh.crosses_nodes(name, ranks_per_node)]
    if not leaving:
        return "No group leaves its node"
    who = f"Groups of {' and '.join(leaving)} parallelism" if len(leaving) < len(mesh.order) else "Groups of all kinds"
    return f"{who} leave their nodes"


def _describe(mesh: Mesh, ranks_per_node: int) -> str:
    crossing = [name for name in mesh.order if mesh.crosses_nodes(name, ranks_per_node)]
    groups = "; ".join(f"{name}: {', '.join(map(str, mesh.groups(name)))}" for name in mesh.order)
    shape = " × ".join(map(str, mesh.shape))
    leaves = f"Groups that leave a node: {', '.join(crossing) or 'none'}."
    return f"{mesh.world_size} ranks on a mesh of {shape}, {ranks_per_node} a node. Groups by {groups}. {leaves}"


def draw_plans_by_parts(
    plans: Mapping[str, Mapping[str, float]], unit: str, *, title: str, limits: Mapping[str, float] | None = None
) -> Picture:
    """A bar a plan, stacked from its parts; those of a step's time have the explorer's colors.

    Args:
        plans: name -> part -> how much, in `unit`.
        unit: as it stands on the axis.
        limits: name -> where a dashed line is drawn.
    """
    most = max(sum(parts.values()) for parts in plans.values())
    timed = {part for parts in plans.values() for part in parts} <= set(STEP_PARTS)
    panel = Bars(
        title=title,
        origin="computed",
        bars=plans,
        axis=axis(unit, [most], most=7),
        limits=limits or {},
        colors=STEP_COLORS if timed else {},
        wide=True,
        row_px=38.0,
    )
    return picture_of([panel], alt=f"{title}. In {unit}: {'; '.join(plans)}.")
