"""Mixed precision: numbers of 16 and 8 bits where they are enough, and 32 where they are not.

What the bits of a number mean; what 16 bits make of gradients; scaling the loss; a master copy of the weights; rounding
by chance; 8 bits with a scale for each tensor or block, from this step or the last ones, and an optimizer that keeps
its states so; 16 bits on the wire; and what a machine can do: its roofline, and operators fused into one.
"""

from course_lib.precision.adam_8bit import Adam8bit
from course_lib.precision.delayed_scaling import DelayedScale
from course_lib.precision.formats import BF16, E4M3, E5M2, FORMATS, FP16, FP32, TF32, FloatFormat
from course_lib.precision.fp8 import SCALE_RULES, Fp8Linear, Scaled, in_fp8, in_fp8_blocks
from course_lib.precision.fusion import (
    compiled,
    gelu_as_one,
    gelu_in_place,
    gelu_of_operators,
    why_not_compiled,
)
from course_lib.precision.histogram import Fates, activation_gradients, exponent_counts, fates
from course_lib.precision.loss_scaling import DynamicScaler, StaticScaler, unscale
from course_lib.precision.master_weights import KEPT_IN_FP32, MasterWeights, round_model, stochastic_rounding
from course_lib.precision.roofline import Roofline, Work, count_work, fastest_in_turns, fastest_s, measure_roofline
from course_lib.precision.rounding import round_stochastic
from course_lib.precision.summation import (
    roundings_met,
    sum_at_owner,
    sum_error,
    sum_round_ring,
    sum_up_tree,
    unit_roundoff,
)
from course_lib.precision.training import mixed_step
from course_lib.precision.wire import all_reduce_at_owners, all_reduce_in

__all__ = [
    "FloatFormat",
    "FORMATS",
    "FP32",
    "TF32",
    "FP16",
    "BF16",
    "E4M3",
    "E5M2",
    "Fates",
    "fates",
    "exponent_counts",
    "activation_gradients",
    "StaticScaler",
    "DynamicScaler",
    "unscale",
    "MasterWeights",
    "round_model",
    "KEPT_IN_FP32",
    "mixed_step",
    "round_stochastic",
    "stochastic_rounding",
    "Scaled",
    "in_fp8",
    "in_fp8_blocks",
    "SCALE_RULES",
    "Fp8Linear",
    "DelayedScale",
    "Adam8bit",
    "all_reduce_in",
    "all_reduce_at_owners",
    "unit_roundoff",
    "sum_round_ring",
    "sum_up_tree",
    "sum_at_owner",
    "sum_error",
    "roundings_met",
    # the compute wall
    "Roofline",
    "measure_roofline",
    "Work",
    "count_work",
    "fastest_s",
    "fastest_in_turns",
    "gelu_of_operators",
    "gelu_in_place",
    "gelu_as_one",
    "compiled",
    "why_not_compiled",
]
