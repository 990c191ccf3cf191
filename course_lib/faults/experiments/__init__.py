"""What chapter 12 measures: links that degrade, bits that flip, and four designs in one storm of failures."""
# ruff: noqa: I001 - names stand in the order of the page

from course_lib.faults.experiments.slow_links import link_seconds, ring_avoiding
from course_lib.faults.experiments.bits import BitEffects, bit_effects, flip_bit
from course_lib.faults.experiments.witnesses import CHECKS, PLACES, Verdict, corrupted_step, outvoted, row_hash
from course_lib.faults.experiments.storm import Failure, Weather, failures_of
from course_lib.faults.experiments.designs import DESIGNS, Progress, train_in

__all__ = [
    "link_seconds",
    "ring_avoiding",
    "BitEffects",
    "bit_effects",
    "flip_bit",
    "CHECKS",
    "PLACES",
    "Verdict",
    "corrupted_step",
    "outvoted",
    "row_hash",
    "Failure",
    "Weather",
    "failures_of",
    "DESIGNS",
    "Progress",
    "train_in",
]
