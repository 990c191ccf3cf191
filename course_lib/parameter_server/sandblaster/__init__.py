"""Sandblaster L-BFGS: full batches in small portions, vectors on the servers, a coordinator that sees only numbers."""
# ruff: noqa: I001 - names stand in the order of the page

from course_lib.parameter_server.sandblaster.lbfgs import (
    FixedStep,
    Pair,
    WolfeStep,
    commands_of,
    lbfgs_commands,
    two_loop_recursion,
)
from course_lib.parameter_server.sandblaster.shard_vectors import COMMANDS, Command, ShardVectors
from course_lib.parameter_server.sandblaster.coordinator import Coordinator
from course_lib.parameter_server.sandblaster.vector_server import PortionWorker, VectorServer

__all__ = [
    "FixedStep",
    "Pair",
    "WolfeStep",
    "commands_of",
    "lbfgs_commands",
    "two_loop_recursion",
    "COMMANDS",
    "Command",
    "ShardVectors",
    "Coordinator",
    "PortionWorker",
    "VectorServer",
]
