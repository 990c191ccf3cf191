"""What chapter 03 measures: training with any policy, counted staleness, loads, torn reads, and processes killed."""
# ruff: noqa: I001 - names stand in the order of the page

from course_lib.parameter_server.experiments.training import Speeds, History, train, Needed, time_to_loss, train_to_loss
from course_lib.parameter_server.experiments.stale_reads import (
    largest_curvature,
    largest_stable_rate,
    measure_staleness,
    torn_reads_across_shards,
    torn_reads_inside_a_shard,
)
from course_lib.parameter_server.experiments.load import Topology, machine_bytes, measure_load, server_bytes
from course_lib.parameter_server.experiments.distbelief import (
    train_downpour,
    train_on_one_machine,
    portion_gradient,
    train_sandblaster,
)
from course_lib.parameter_server.experiments.fault_injection import fault_trial
from course_lib.parameter_server.experiments.corners import (
    Corner,
    central_corner,
    decentralized_corner,
    gossip_corner,
)
