"""Parameter servers: workers push gradients and pull parameters, servers hold shards of them.

Names are in the order of chapter 03. Packages: `sandblaster` (batches in portions, vectors on the servers),
`fault_tolerance` (processes that are killed) and `experiments` (what the chapter measures).
"""
# ruff: noqa: I001 - names stand in the order of the page

from course_lib.comm.processes.fork_server import preload as _preload
from course_lib.parameter_server.policies import (
    Policy,
    admits,
    asynchronous,
    softsync,
    stale_synchronous,
    synchronous,
    takes,
)
from course_lib.parameter_server.actor import HEADER_BYTES, KINDS, Message, Actor, run_actor, CommMailbox, Mailbox
from course_lib.parameter_server.server import SimpleServer, Server, Sgd
from course_lib.parameter_server.worker import Worker
from course_lib.parameter_server.staleness import (
    Staleness,
    expected_staleness,
    FULL_WEIGHT,
    StalenessWeight,
    decay,
    drop_older_than,
    inverse_staleness,
)
from course_lib.parameter_server.shards import SHARD_RULES, Shard, put, shard_length, shard_plan, take
from course_lib.parameter_server.several_servers import Aggregator, copies_bytes, serve_a_copy, work_for_a_copy
from course_lib.parameter_server.downpour import Adagrad, WarmStart, replicate

_preload("course_lib.parameter_server.experiments")  # a process that was killed comes back while others wait for it
