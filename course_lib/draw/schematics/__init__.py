"""Pictures without numbers: machines, ways of parallelism, the map of the field, and the blocks they are made of."""

from course_lib.draw.schematics.machines import draw_machines, draw_training_step
from course_lib.draw.schematics.parallelism import draw_parallelism
from course_lib.draw.schematics.taxonomy import draw_taxonomy

__all__ = ["draw_machines", "draw_parallelism", "draw_taxonomy", "draw_training_step"]
