"""Will my model fit, on what, and how fast: what `course plan` prints, from a model's `config.json`.

In the order of the answer: the model's parameters; memory and time of plans by the formulas of chapter 13; how far
those were off on published trainings; flags.
"""

from course_lib.planning.config import FAMILIES, ConfigError, read_fields, shape_of
from course_lib.planning.expected import CLUSTERS, MEMORY_PASSES, Band, Miss, band_of, expected_step, misses
from course_lib.planning.flags import deepspeed_lines, megatron_flags, torchtitan_flags
from course_lib.planning.plans import (
    Candidate,
    InvalidPlanError,
    best_candidates,
    candidate_of,
    logits_bytes,
    plan_of,
    sent_bytes,
)
from course_lib.planning.report import (
    answer_lines,
    band_lines,
    detail_lines,
    model_lines,
    plan_text,
    table_lines,
    titan_memory,
)
from course_lib.planning.shape import MlaSizes, ModelShape
