"""The ground floor: a communicator, one network model, and the executors that run a program on them."""

from course_lib.comm.communicator import Communicator, Work
from course_lib.comm.errors import (
    CommError,
    DeadlockError,
    MismatchError,
    RankDiedError,
    RankError,
    RankTimeoutError,
    TransportError,
    UnmatchedError,
)
from course_lib.comm.group import Group
from course_lib.comm.network import Link, Network
from course_lib.comm.processes.fork_server import warm_up
from course_lib.comm.simulator.simulate import simulate
from course_lib.comm.trace import Message, Report, Span, Trace
from course_lib.comm.transport.runner import run

__all__ = [
    "CommError",
    "Communicator",
    "DeadlockError",
    "Group",
    "Link",
    "Message",
    "MismatchError",
    "Network",
    "RankDiedError",
    "RankError",
    "RankTimeoutError",
    "Report",
    "Span",
    "Trace",
    "TransportError",
    "UnmatchedError",
    "Work",
    "run",
    "simulate",
    "warm_up",
]
