"""Experiments of the page: what is measured there, and nothing that a training needs."""

from course_lib.data_parallel.experiments.batch_statistics import (
    expected_scatter,
    running_weight,
    statistics_scatter,
    train_with_batch_norm,
    variance_parts,
)
from course_lib.data_parallel.experiments.large_batch import (
    GOYAL_ERRORS,
    GOYAL_RECIPES,
    error_by_batch_size,
    fit_critical_batch_size,
    noise_in_training,
    updates_to_goal,
)
from course_lib.data_parallel.experiments.timed_layers import timed_sharded_step, timed_step
