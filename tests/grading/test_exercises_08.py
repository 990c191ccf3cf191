"""What chapter 8's solutions give is what the library's formats and its loss scaler give."""

import numpy as np

from course_lib.grading.exercises import find
from course_lib.precision.formats import FP16, FloatFormat
from course_lib.precision.mixed_training import DynamicScaler


def _calls(exercise_id):
    """(arguments, what is right) of each call of fresh cases."""
    (case,) = find(exercise_id).cases(np.random.default_rng())
    return zip(case.inputs, case.expected, strict=True)


def test_bits_mean_what_the_format_says():
    for (bits, exponent_bits), right in _calls("08a"):
        assert FloatFormat("", exponent_bits, len(bits) - 1 - exponent_bits).decode(int(bits, 2)).item() == right


def test_the_nearest_number_is_that_of_the_format():
    for (x, exponent_bits, mantissa_bits), right in _calls("08b"):
        assert FloatFormat("", exponent_bits, mantissa_bits).round(x).item() == right


def test_gradients_are_lost_and_overflow_as_in_fp16():
    for (gradients, scale), right in _calls("08c"):
        stored = [FP16.round(abs(gradient) * scale).item() for gradient in gradients if gradient]
        lost, overflowed = stored.count(0.0), sum(map(np.isinf, stored))
        assert right == [lost, len(stored) - lost - overflowed, overflowed]


def test_the_scale_changes_as_the_scaler_changes_it():
    for (overflows, scale, interval), right in _calls("08d"):
        scaler, scales = DynamicScaler(scale, interval), []
        for overflow in overflows:
            scales.append(scaler.scale)
            scaler.update(not overflow)
        assert right == [scales, overflows.count(False)]
