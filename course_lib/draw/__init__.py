"""Pictures, tables and sources for the pages: `draw_*` takes data and returns a Figure with its origin on it.

A chapter's pictures are read when a page first asks for one: a page waits for no other chapter.
"""

import importlib
from typing import Any

from course_lib.draw.bar_charts import draw_bars, draw_busy_gpus, draw_memory_bars, draw_speedups
from course_lib.draw.cell_output import DataTable, progress, progress_bar, show_claims, show_source, show_table
from course_lib.draw.colors import COLORS, look_of
from course_lib.draw.histories import draw_losses, draw_staleness
from course_lib.draw.line_charts import Axis, Curve, draw_alpha_beta_fit, draw_forms, draw_lines, draw_seconds_curves
from course_lib.draw.style import Picture, alt_text, finish, new_picture, styled
from course_lib.draw.timelines import draw_timeline
from course_lib.draw.units import format_bytes, format_count, format_range, format_rate, format_seconds

_CHAPTERS = {
    "checkpointing": ("draw_frontier", "draw_graphs", "draw_plans"),
    "collectives.chunks": ("ChunkReplay", "draw_chunk_steps", "replay"),
    "collectives.definitions": ("draw_collectives",),
    "collectives.links": ("draw_bytes_per_rank", "draw_link_heatmap", "draw_topologies", "draw_topology"),
    "collectives.times": (
        "WinnerMap",
        "draw_a100_sweep",
        "draw_plan_times",
        "draw_three_scales",
        "draw_winner_map",
        "winner_map",
    ),
    "data_parallel": ("draw_goals", "draw_replicas", "draw_run_minutes", "draw_steps"),
    "faults": ("draw_crossings", "draw_failure_costs", "draw_lives"),
    "mesh": ("draw_mesh", "draw_plans_by_parts"),
    "model_parallel": ("draw_cuts", "draw_halos", "draw_linear_splits", "draw_parallel_mlp", "draw_sent"),
    "orientation": (
        "draw_machines",
        "draw_parallelism",
        "draw_step_seconds",
        "draw_taxonomy",
        "draw_training_step",
    ),
    "parameter_server": (
        "draw_beginnings",
        "draw_corners",
        "draw_faults",
        "draw_parameter_server",
        "draw_times_to_loss",
    ),
    "pipeline": ("draw_idle_shares", "draw_schedule", "draw_schedules"),
    "precision": ("draw_formats", "draw_gradients", "draw_roofline", "draw_steps_needed"),
}
_MODULES = {name: module for module, names in _CHAPTERS.items() for name in names}

__all__ = [
    "Axis",
    "COLORS",
    "Curve",
    "Picture",
    "DataTable",
    "alt_text",
    "draw_alpha_beta_fit",
    "draw_bars",
    "draw_busy_gpus",
    "draw_forms",
    "draw_lines",
    "draw_losses",
    "draw_memory_bars",
    "draw_seconds_curves",
    "draw_speedups",
    "draw_staleness",
    "draw_timeline",
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
    "show_claims",
    "show_source",
    "show_table",
    "styled",
]
__all__.extend(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.chapters.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
