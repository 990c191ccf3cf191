"""Pictures of data parallelism: replicas, the step and its overlap, what a goal takes by batch size."""

from course_lib.draw.data_parallel.goals import draw_goals
from course_lib.draw.data_parallel.replicas import draw_replicas
from course_lib.draw.data_parallel.steps import draw_steps

__all__ = ["draw_goals", "draw_replicas", "draw_steps"]
