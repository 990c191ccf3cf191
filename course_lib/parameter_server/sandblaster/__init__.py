"""Sandblaster L-BFGS: full batches in small portions, vectors on the servers, a coordinator that sees only numbers."""
# ruff: noqa: I001 - names stand in the order of the page

from course_lib.parameter_server.sandblaster.lbfgs import (
    FixedStep,
    CurvaturePair,
    WolfeStep,
    commands_of,
    lbfgs_commands,
    two_loop_recursion,
    Coordinator,
)
from course_lib.parameter_server.sandblaster.vector_server import (
    COMMANDS,
    Command,
    ShardVectors,
    PortionWorker,
    VectorServer,
)
