"""What only the pages measure: a trained network with one layer compressed."""

from course_lib.decomposition.experiments.compressed_digits import (
    INPUT_MODES,
    OUTPUT_MODES,
    Compressed,
    replace_and_tune,
    svd_linear,
    try_form,
    weight_of,
    wide_digits_model,
)

__all__ = [
    "INPUT_MODES",
    "OUTPUT_MODES",
    "wide_digits_model",
    "svd_linear",
    "weight_of",
    "replace_and_tune",
    "try_form",
    "Compressed",
]
