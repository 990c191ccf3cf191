"""Will my model fit, on what, and how fast: what `course plan` prints, from a model's `config.json`.

In the order of the answer: the model's parameters; memory and time of plans by the formulas of chapter 13; how far
those were off on published trainings; flags.
"""

from course_lib.planning.answer import answer_lines
from course_lib.planning.band import Band, Miss, band_of, misses
from course_lib.planning.config import FAMILIES, ConfigError, read_fields, shape_of
from course_lib.planning.expected import CLUSTERS, MEMORY_PASSES, expected_step
from course_lib.planning.flags import deepspeed_lines, megatron_flags, torchtitan_flags
from course_lib.planning.plans import Candidate, PlanError, best_candidates, candidate_of, logits_bytes, plan_of
from course_lib.planning.report import band_lines, detail_lines, model_lines, plan_text, table_lines, titan_memory
from course_lib.planning.shape import MlaSizes, ModelShape
from course_lib.planning.traffic import sent_bytes

__all__ = [
    "FAMILIES",
    "ConfigError",
    "read_fields",
    "shape_of",
    "MlaSizes",
    "ModelShape",
    "Candidate",
    "PlanError",
    "best_candidates",
    "candidate_of",
    "logits_bytes",
    "plan_of",
    "sent_bytes",
    "CLUSTERS",
    "MEMORY_PASSES",
    "expected_step",
    "Band",
    "Miss",
    "band_of",
    "misses",
    "deepspeed_lines",
    "megatron_flags",
    "torchtitan_flags",
    "band_lines",
    "detail_lines",
    "model_lines",
    "plan_text",
    "table_lines",
    "titan_memory",
    "answer_lines",
]
