"""What chapter 12 measures: trainings that are killed, links that degrade, flipped bits, four designs in one storm."""
# ruff: noqa: I001 - names stand in the order of the page

from course_lib.faults.experiments.kills import KilledTraining, Life, kill_training, live
from course_lib.faults.experiments.logs import LogLine, Logs, logs_of
from course_lib.faults.experiments.elastic import elastic_run
from course_lib.faults.experiments.slow_links import link_seconds, ring_avoiding
from course_lib.faults.experiments.bit_flips import bit_effects, flip_bit, CHECKS, PLACES, corrupted_step, outvoted
from course_lib.faults.experiments.storm import NodeFailure, Weather, failures_of, DESIGNS, train_in
