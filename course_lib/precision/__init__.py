"""Mixed precision: numbers of 16 and 8 bits where they are enough, and 32 where they are not."""

from course_lib.precision.formats import BF16, E4M3, E5M2, FORMATS, FP16, FP32, TF32, FloatFormat
from course_lib.precision.summation import (
    roundings_met,
    sum_at_owner,
    sum_error,
    sum_round_ring,
    sum_up_tree,
    unit_roundoff,
)
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
    # on the wire
    "all_reduce_in",
    "all_reduce_at_owners",
    "unit_roundoff",
    "sum_round_ring",
    "sum_up_tree",
    "sum_at_owner",
    "sum_error",
    "roundings_met",
]
