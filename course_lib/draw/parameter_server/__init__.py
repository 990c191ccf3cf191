"""Pictures of parameter servers: who talks to whom, policies side by side, servers that fail."""

from course_lib.draw.parameter_server.faults import draw_faults
from course_lib.draw.parameter_server.members import draw_parameter_server
from course_lib.draw.parameter_server.policies import (
    draw_beginnings,
    draw_corners,
    draw_server_load,
    draw_staleness_grid,
    draw_time_and_updates,
)

__all__ = [
    "draw_beginnings",
    "draw_corners",
    "draw_faults",
    "draw_parameter_server",
    "draw_server_load",
    "draw_staleness_grid",
    "draw_time_and_updates",
]
