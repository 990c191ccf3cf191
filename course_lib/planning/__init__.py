"""Will my model fit, on what, and how fast: what `course plan` prints, from a model's `config.json`.

In the order of the answer: the model's parameters; memory and time of plans by the formulas of chapter 13; how far
those were off on published trainings; flags.
"""

from course_lib.planning.config import FAMILIES, ConfigError, read_fields, shape_of
from course_lib.planning.report import model_lines
from course_lib.planning.shape import MlaSizes, ModelShape

__all__ = ["FAMILIES", "ConfigError", "read_fields", "shape_of", "MlaSizes", "ModelShape", "model_lines"]
