"""Distributed training, run for real: write an algorithm once, run it simulated, on processes, or on a cluster."""

from course_lib.comm import *  # noqa: F403
from course_lib.comm import __all__ as __all__
