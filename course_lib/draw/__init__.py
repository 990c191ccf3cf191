"""Pictures, tables and sources for the pages: `draw_*` takes data and returns a Figure with its origin on it."""

from course_lib.draw.bars import draw_bars
from course_lib.draw.claims import show_claims
from course_lib.draw.collectives.chunks import draw_chunk_steps
from course_lib.draw.collectives.definitions import draw_collectives
from course_lib.draw.collectives.links import draw_link_heatmap
from course_lib.draw.collectives.loads import draw_bytes_per_rank
from course_lib.draw.collectives.replays import Replay, replay
from course_lib.draw.collectives.topology import draw_topologies, draw_topology
from course_lib.draw.collectives.winners import WinnerMap, draw_winner_map, winner_map
from course_lib.draw.curves import Curve, draw_alpha_beta_fit, draw_seconds_curves
from course_lib.draw.data_parallel.goals import draw_goals
from course_lib.draw.data_parallel.replicas import draw_replicas
from course_lib.draw.data_parallel.steps import draw_steps
from course_lib.draw.histories import draw_losses, draw_staleness
from course_lib.draw.memory import draw_memory_bars
from course_lib.draw.parameter_server.faults import draw_faults
from course_lib.draw.parameter_server.members import draw_parameter_server
from course_lib.draw.progress_bars import progress, progress_bar
from course_lib.draw.schematics.machines import draw_machines, draw_training_step
from course_lib.draw.schematics.parallelism import draw_parallelism
from course_lib.draw.schematics.taxonomy import draw_taxonomy
from course_lib.draw.sources import show_source
from course_lib.draw.style import COLORS, Picture, alt_text, finish, look_of, new_picture, styled
from course_lib.draw.tables import Table, show_table
from course_lib.draw.timelines import draw_timeline
from course_lib.draw.units import format_bytes, format_count, format_range, format_rate, format_seconds

__all__ = [
    "COLORS",
    "Curve",
    "Picture",
    "Replay",
    "Table",
    "WinnerMap",
    "look_of",
    "alt_text",
    "draw_alpha_beta_fit",
    "draw_bars",
    "draw_bytes_per_rank",
    "draw_chunk_steps",
    "draw_collectives",
    "draw_faults",
    "draw_goals",
    "draw_link_heatmap",
    "draw_machines",
    "draw_losses",
    "draw_memory_bars",
    "draw_parallelism",
    "draw_parameter_server",
    "draw_replicas",
    "draw_seconds_curves",
    "draw_staleness",
    "draw_steps",
    "draw_taxonomy",
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
