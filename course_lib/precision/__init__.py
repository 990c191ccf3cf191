"""Mixed precision: numbers of 16 and 8 bits where they are enough, and 32 where they are not."""

from course_lib.precision.formats import BF16, E4M3, E5M2, FORMATS, FP16, FP32, TF32, FloatFormat

__all__ = [
    "FloatFormat",
    "FORMATS",
    "FP32",
    "TF32",
    "FP16",
    "BF16",
    "E4M3",
    "E5M2",
]
