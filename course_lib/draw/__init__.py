"""Pictures, tables and sources for the pages: `draw_*` takes data and returns a Figure with its origin on it.

A chapter's pictures are read when a page first asks for one: a page waits for no other chapter.
"""

import importlib
from typing import Any

from course_lib.draw.bars import draw_bars, draw_memory_bars
from course_lib.draw.claims import show_claims
from course_lib.draw.curves import draw_alpha_beta_fit, draw_seconds_curves
from course_lib.draw.histories import draw_losses, draw_staleness
from course_lib.draw.lines import Axis, Curve, draw_lines
from course_lib.draw.progress_bars import progress, progress_bar
from course_lib.draw.sources import show_source
from course_lib.draw.style import COLORS, Picture, alt_text, finish, look_of, new_picture, styled
from course_lib.draw.tables import Table, show_table
from course_lib.draw.timelines import draw_timeline
from course_lib.draw.units import format_bytes, format_count, format_range, format_rate, format_seconds

_CHAPTERS = {
    "checkpointing": (
        "draw_frontier",
        "draw_graphs",
        "draw_plans",
    ),
    "collectives.chunks": ("draw_chunk_steps",),
    "collectives.definitions": ("draw_collectives",),
    "collectives.replays": (
        "Replay",
        "replay",
    ),
    "collectives.times": (
        "draw_a100_sweep",
        "draw_three_scales",
    ),
    "collectives.topology": (
        "draw_topologies",
        "draw_topology",
    ),
    "collectives.traffic": (
        "draw_bytes_per_rank",
        "draw_link_heatmap",
    ),
    "collectives.winners": (
        "WinnerMap",
        "draw_winner_map",
        "winner_map",
    ),
    "compression": ("draw_remedies",),
    "data_parallel": (
        "draw_goals",
        "draw_replicas",
        "draw_steps",
    ),
    "decomposition": ("draw_storage",),
    "faults": (
        "draw_crossings",
        "draw_lives",
    ),
    "mesh": ("draw_mesh",),
    "model_parallel": (
        "draw_halos",
        "draw_linear_splits",
    ),
    "parameter_server": (
        "draw_beginnings",
        "draw_corners",
        "draw_faults",
        "draw_parameter_server",
        "draw_server_load",
        "draw_staleness_grid",
        "draw_time_and_updates",
    ),
    "pipeline": (
        "draw_schedule",
        "draw_schedules",
    ),
    "precision": (
        "draw_formats",
        "draw_gradients",
        "draw_roofline",
    ),
    "schematics.machines": (
        "draw_machines",
        "draw_training_step",
    ),
    "schematics.parallelism": ("draw_parallelism",),
    "schematics.taxonomy": ("draw_taxonomy",),
    "tensor_parallel": ("draw_parallel_mlp",),
}
_MODULES = {name: module for module, names in _CHAPTERS.items() for name in names}

__all__ = [
    "Axis",
    "COLORS",
    "Curve",
    "Picture",
    "Replay",
    "Table",
    "WinnerMap",
    "alt_text",
    "draw_a100_sweep",
    "draw_alpha_beta_fit",
    "draw_bars",
    "draw_beginnings",
    "draw_bytes_per_rank",
    "draw_chunk_steps",
    "draw_collectives",
    "draw_corners",
    "draw_crossings",
    "draw_faults",
    "draw_formats",
    "draw_frontier",
    "draw_goals",
    "draw_gradients",
    "draw_graphs",
    "draw_halos",
    "draw_linear_splits",
    "draw_lines",
    "draw_link_heatmap",
    "draw_lives",
    "draw_losses",
    "draw_machines",
    "draw_memory_bars",
    "draw_mesh",
    "draw_parallel_mlp",
    "draw_parallelism",
    "draw_parameter_server",
    "draw_plans",
    "draw_remedies",
    "draw_replicas",
    "draw_roofline",
    "draw_schedule",
    "draw_schedules",
    "draw_seconds_curves",
    "draw_server_load",
    "draw_staleness",
    "draw_staleness_grid",
    "draw_steps",
    "draw_storage",
    "draw_taxonomy",
    "draw_three_scales",
    "draw_time_and_updates",
    "draw_timeline",
    "draw_topologies",
    "draw_topology",
    "draw_training_step",
    "draw_winner_map",
    "finish",
    "format_bytes",
    "format_count",
    "format_range",
    "format_rate",
    "format_seconds",
    "look_of",
    "new_picture",
    "progress",
    "progress_bar",
    "replay",
    "show_claims",
    "show_source",
    "show_table",
    "styled",
    "winner_map",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
