"""What only the page runs: every remedy trained on the digits, its bytes counted on the wire."""

from course_lib.compression.experiments.remedies import REMEDIES, Outcome, compare, train_with

__all__ = ["REMEDIES", "Outcome", "compare", "train_with"]
