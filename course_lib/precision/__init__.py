"""Mixed precision: numbers of 16 and 8 bits where they are enough, and 32 where they are not.

What the bits of a number mean; what 16 bits make of gradients; scaling the loss; a master copy of the weights; rounding
by chance; 8 bits with a scale for each tensor or block, from this step or the last ones, and an optimizer that keeps
its states so; 16 bits on the wire; and what a machine can do: its roofline, and operators fused into one.
"""

from course_lib.precision.formats import (
    BF16,
    E4M3,
    E5M2,
    FORMATS,
    FP16,
    FP32,
    TF32,
    Fates,
    FloatFormat,
    activation_gradients,
    exponent_counts,
    fates,
    round_stochastic,
)
from course_lib.precision.fp8 import SCALE_RULES, Adam8bit, DelayedScale, Fp8Linear, Scaled, in_fp8, in_fp8_blocks
from course_lib.precision.mixed_training import (
    KEPT_IN_FP32,
    DynamicScaler,
    MasterWeights,
    StaticScaler,
    mixed_step,
    round_model,
    stochastic_rounding,
    unscale,
)
from course_lib.precision.roofline import (
    KernelWork,
    Roofline,
    compiled,
    count_work,
    fastest_in_turns,
    fastest_s,
    gelu_as_one,
    gelu_in_place,
    gelu_of_operators,
    measure_roofline,
    why_not_compiled,
)
from course_lib.precision.summation import (
    all_reduce_at_owners,
    all_reduce_in,
    roundings_met,
    sum_at_owner,
    sum_error,
    sum_round_ring,
    sum_up_tree,
    unit_roundoff,
)
