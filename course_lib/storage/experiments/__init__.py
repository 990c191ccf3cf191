"""What the page measures: training in a poor order, and gradients and data on one network."""

from course_lib.storage.experiments.poor_order import train_in_order
from course_lib.storage.experiments.shared_network import SharedStep, shared_step_seconds, train_beside_storage

__all__ = ["SharedStep", "shared_step_seconds", "train_beside_storage", "train_in_order"]
