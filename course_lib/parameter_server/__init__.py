"""Parameter servers: workers push gradients and pull parameters, servers hold shards of them."""

from course_lib.parameter_server.classifier import Classifier, batches, digits
from course_lib.parameter_server.letters import HEADER_BYTES, KINDS, Letter
from course_lib.parameter_server.mailbox import CommMailbox, Mail, Mailbox, Role, converse
from course_lib.parameter_server.policies import (
    Policy,
    admits,
    asynchronous,
    bounded_delay,
    softsync,
    synchronous,
    takes,
)
from course_lib.parameter_server.remedies import NO_REMEDY, Remedy, decay, drop_older_than, inverse_staleness
from course_lib.parameter_server.server import Optimizer, Server, Sgd, Update
from course_lib.parameter_server.shards import SHARD_RULES, Piece, Shard, put, shard_length, shard_plan, take
from course_lib.parameter_server.speeds import Speeds
from course_lib.parameter_server.training import GIGABIT, History, Setting, train
from course_lib.parameter_server.worker import Gradient, Worker

__all__ = [
    "Classifier",
    "CommMailbox",
    "GIGABIT",
    "Gradient",
    "HEADER_BYTES",
    "History",
    "KINDS",
    "Letter",
    "Mail",
    "Mailbox",
    "NO_REMEDY",
    "Optimizer",
    "Piece",
    "Policy",
    "Remedy",
    "Role",
    "SHARD_RULES",
    "Server",
    "Setting",
    "Sgd",
    "Shard",
    "Speeds",
    "Update",
    "Worker",
    "admits",
    "asynchronous",
    "batches",
    "bounded_delay",
    "converse",
    "decay",
    "digits",
    "drop_older_than",
    "inverse_staleness",
    "put",
    "shard_length",
    "shard_plan",
    "softsync",
    "synchronous",
    "take",
    "takes",
    "train",
]
