"""What only the page runs: every remedy trained on the digits, its bytes counted; sites far apart."""

from course_lib.compression.experiments.cores import on_all_cores
from course_lib.compression.experiments.planet import train_at_site
from course_lib.compression.experiments.pruned import prune_and_train_on
from course_lib.compression.experiments.remedies import REMEDIES, Outcome, compare, train_with

__all__ = ["REMEDIES", "Outcome", "compare", "on_all_cores", "prune_and_train_on", "train_at_site", "train_with"]
