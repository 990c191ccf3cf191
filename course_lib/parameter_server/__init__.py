"""Parameter servers: workers push gradients and pull parameters, servers hold shards of them."""

from course_lib.parameter_server.adagrad import Adagrad
from course_lib.parameter_server.classifier import Classifier, batches, digits
from course_lib.parameter_server.cluster import Cluster, run_members
from course_lib.parameter_server.coordinator import Batch, Coordinator
from course_lib.parameter_server.copies import copies_bytes, own_workers, serve_a_copy, work_for_a_copy
from course_lib.parameter_server.corners import (
    Average,
    Corner,
    central_corner,
    decentralized_corner,
    gossip_corner,
    ring_average,
)
from course_lib.parameter_server.downpour import (
    DownpourHistory,
    DownpourSetting,
    WarmStart,
    downpour,
    one_machine,
    replicate,
)
from course_lib.parameter_server.exactly_once import CarefulWorker, Durable, Foreman, OnceServer, recover
from course_lib.parameter_server.fault_report import Audit, Event, FaultReport
from course_lib.parameter_server.fault_setting import FaultSetting, Kill, kill_plan, whole_numbers
from course_lib.parameter_server.fault_trial import fault_trial
from course_lib.parameter_server.journal import Journal, pack_record, unpack_records
from course_lib.parameter_server.lbfgs import (
    FixedStep,
    Iterate,
    Pair,
    StepRule,
    WolfeStep,
    execute_here,
    find_direction,
    lbfgs,
)
from course_lib.parameter_server.letters import HEADER_BYTES, KINDS, Letter
from course_lib.parameter_server.load import Load, Topology, machine_bytes, measure_load, server_bytes, worker_bytes
from course_lib.parameter_server.mailbox import CommMailbox, Mail, Mailbox, Role, converse
from course_lib.parameter_server.member import Member
from course_lib.parameter_server.policies import (
    Policy,
    admits,
    asynchronous,
    bounded_delay,
    softsync,
    synchronous,
    takes,
)
from course_lib.parameter_server.portions import Portions, portion_slice
from course_lib.parameter_server.remedies import NO_REMEDY, Remedy, decay, drop_older_than, inverse_staleness
from course_lib.parameter_server.sandblaster import (
    SandblasterHistory,
    SandblasterSetting,
    portion_gradient,
    sandblaster,
)
from course_lib.parameter_server.server import Optimizer, Server, Sgd, Update
from course_lib.parameter_server.shard_vectors import COMMANDS, Command, ShardVectors
from course_lib.parameter_server.shards import SHARD_RULES, Piece, Shard, put, shard_length, shard_plan, take
from course_lib.parameter_server.speeds import Speeds
from course_lib.parameter_server.stability import largest_curvature, largest_stable_rate
from course_lib.parameter_server.staleness import Staleness, expected_staleness, measure_staleness
from course_lib.parameter_server.torn_read import (
    AgreeingWorker,
    PiecewiseServer,
    RememberingServer,
    TornReads,
    torn_reads_across_shards,
    torn_reads_inside_a_shard,
)
from course_lib.parameter_server.training import GIGABIT, History, Setting, train
from course_lib.parameter_server.tree import Aggregator
from course_lib.parameter_server.vector_server import PortionGradient, PortionWorker, VectorServer
from course_lib.parameter_server.worker import Gradient, Worker, turns
from course_lib.parameter_server.zmq_mailbox import ZmqMailbox

__all__ = [
    "Adagrad",
    "Aggregator",
    "AgreeingWorker",
    "Audit",
    "Average",
    "Batch",
    "COMMANDS",
    "CarefulWorker",
    "Classifier",
    "Cluster",
    "CommMailbox",
    "Command",
    "Coordinator",
    "Corner",
    "DownpourHistory",
    "DownpourSetting",
    "Durable",
    "Event",
    "FaultReport",
    "FaultSetting",
    "FixedStep",
    "Foreman",
    "GIGABIT",
    "Gradient",
    "HEADER_BYTES",
    "History",
    "Iterate",
    "Journal",
    "KINDS",
    "Kill",
    "Letter",
    "Load",
    "Mail",
    "Mailbox",
    "Member",
    "NO_REMEDY",
    "OnceServer",
    "Optimizer",
    "Pair",
    "Piece",
    "PiecewiseServer",
    "Policy",
    "PortionGradient",
    "PortionWorker",
    "Portions",
    "Remedy",
    "RememberingServer",
    "Role",
    "SHARD_RULES",
    "SandblasterHistory",
    "SandblasterSetting",
    "Server",
    "Setting",
    "Sgd",
    "Shard",
    "ShardVectors",
    "Speeds",
    "Staleness",
    "StepRule",
    "Topology",
    "TornReads",
    "Update",
    "VectorServer",
    "WarmStart",
    "WolfeStep",
    "Worker",
    "ZmqMailbox",
    "admits",
    "asynchronous",
    "batches",
    "bounded_delay",
    "central_corner",
    "converse",
    "copies_bytes",
    "decay",
    "decentralized_corner",
    "digits",
    "downpour",
    "drop_older_than",
    "execute_here",
    "expected_staleness",
    "fault_trial",
    "find_direction",
    "gossip_corner",
    "inverse_staleness",
    "kill_plan",
    "largest_curvature",
    "largest_stable_rate",
    "lbfgs",
    "machine_bytes",
    "measure_load",
    "measure_staleness",
    "one_machine",
    "own_workers",
    "pack_record",
    "portion_gradient",
    "portion_slice",
    "put",
    "recover",
    "replicate",
    "ring_average",
    "run_members",
    "sandblaster",
    "serve_a_copy",
    "server_bytes",
    "shard_length",
    "shard_plan",
    "softsync",
    "synchronous",
    "take",
    "takes",
    "torn_reads_across_shards",
    "torn_reads_inside_a_shard",
    "train",
    "turns",
    "unpack_records",
    "whole_numbers",
    "work_for_a_copy",
    "worker_bytes",
]
