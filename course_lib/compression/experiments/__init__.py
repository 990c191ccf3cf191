"""What only the pages run: every remedy trained on the digits, before a network is pruned and after it."""

from course_lib.compression.experiments.cores import on_all_cores
from course_lib.compression.experiments.pruned import prune_and_train_on
from course_lib.compression.experiments.remedies import REMEDIES, train_with

__all__ = ["REMEDIES", "on_all_cores", "prune_and_train_on", "train_with"]
