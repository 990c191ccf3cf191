"""Pictures of collectives: what each does, chunks step by step, links, loads, topologies, who is fastest where."""

from course_lib.draw.collectives.chunks import draw_chunk_steps
from course_lib.draw.collectives.definitions import draw_collectives
from course_lib.draw.collectives.replays import Replay, replay
from course_lib.draw.collectives.times import draw_a100_sweep, draw_three_scales
from course_lib.draw.collectives.topology import draw_topologies, draw_topology
from course_lib.draw.collectives.traffic import draw_bytes_per_rank, draw_link_heatmap
from course_lib.draw.collectives.winners import WinnerMap, draw_winner_map, winner_map

__all__ = [
    "Replay",
    "WinnerMap",
    "draw_a100_sweep",
    "draw_bytes_per_rank",
    "draw_chunk_steps",
    "draw_collectives",
    "draw_link_heatmap",
    "draw_three_scales",
    "draw_topologies",
    "draw_topology",
    "draw_winner_map",
    "replay",
    "winner_map",
]
