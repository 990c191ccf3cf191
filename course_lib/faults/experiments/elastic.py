"""torchrun's elastic restart, on this machine: two agents, one of which dies with its ranks in mid-epoch."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from course_lib.comm import CommError
from course_lib.comm.processes.machine import LOOPBACK

_RENDEZVOUS = "join_timeout=60,last_call_timeout=2,keep_alive_interval=1,keep_alive_max_attempt=3"
# Each life gets a store of its own. In the agent's, ranks may read addresses of the dead (PyTorch issue 135712).
_OWN_STORE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
_LOOK_S = 0.02
_TRIES = 3


class ElasticStep(NamedTuple):
    """A step as its ranks logged it.

    Attributes:
        life: which start of the ranks it was in, from 0; they were `world_size`.
        counts: False if a later life trained this step again from an older checkpoint.
    """

    step: int
    life: int
    world_size: int
    examples: list[int]
    counts: bool


def elastic_run(
    steps: int = 32, kill_at: int = 13, ranks: tuple[int, int] = (2, 1), timeout_s: float = 240.0
) -> list[ElasticStep]:
    """All steps that were trained under torchrun, in the order of their lives, though one of two agents was killed.

    The second is killed with its ranks when `kill_at` steps are logged, and the first is waited for.

    Args:
        ranks: how many each agent starts.

    Raises:
        CommError: if it has not ended after `timeout_s`, or ended otherwise than well; with what it said.
    """
    for _ in range(_TRIES):
        trained = _one_run(steps, kill_at, ranks, timeout_s)
        if trained is not None:
            return trained
    raise CommError(f"the ranks had ended their {steps} steps each time before one could be killed")


def _one_run(steps: int, kill_at: int, ranks: tuple[int, int], timeout_s: float) -> list[ElasticStep] | None:
    """None if the training was over before the kill, as may happen where this process waits long for a processor."""
    give_up_s = time.monotonic() + timeout_s
    with tempfile.TemporaryDirectory(prefix="course-elastic-") as name, _agents(Path(name), steps, ranks) as agents:
        folder = Path(name)
        (stays, dies) = agents
        killed = False
        while stays.poll() is None and time.monotonic() < give_up_s:
            if not killed and kill_at <= _steps_logged(folder) < steps:
                _kill(dies)
                killed = True
            time.sleep(_LOOK_S)
        said, status = (folder / "said-0").read_text(), stays.poll()
        if status != 0:
            raise CommError(f"torchrun's agent ended with {status} (None: not at all):\n{said[-4000:]}")
        return _read_log(folder) if killed else None


@contextlib.contextmanager
def _agents(folder: Path, steps: int, ranks: tuple[int, int]) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two agents that meet on the loopback interface; none is left when the context ends."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    meeting = ["--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{port}", "--local-addr=localhost"]
    command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=1:2", *meeting]
    limits = ["--max-restarts=9", "--monitor-interval=0.1"]
    program = ["-m", "course_lib.faults.experiments.elastic_worker", str(folder), str(steps)]
    environment = {**os.environ, **_OWN_STORE, "OMP_NUM_THREADS": "1"}
    if LOOPBACK:
        environment["GLOO_SOCKET_IFNAME"] = LOOPBACK
    with contextlib.ExitStack() as cleaning:
        agents = []
        for number, count in enumerate(ranks):
            said = cleaning.enter_context(open(folder / f"said-{number}", "wb"))
            host = f"--rdzv-conf={_RENDEZVOUS},is_host={number == 0}"
            whole = [*command, host, f"--nproc-per-node={count}", *limits, *program]
            agents.append(subprocess.Popen(whole, env=environment, stdout=said, stderr=said))
            cleaning.callback(_kill, agents[-1])
        yield agents


def _kill(agent: subprocess.Popen[bytes]) -> None:
    """The agent and its ranks, as when a machine loses its power. Ranks have sessions of their own, so one by one."""
    try:
        processes = [psutil.Process(agent.pid), *psutil.Process(agent.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        processes = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    agent.wait()


def _entries(folder: Path) -> list[dict[Any, Any]]:
    """What the ranks have logged; a line that is being written is left out."""
    log = folder / "log.jsonl"
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    return [json.loads(line) for line in lines]


def _steps_logged(folder: Path) -> int:
    return max((entry["step"] for entry in _entries(folder)), default=0)


def _read_log(folder: Path) -> list[ElasticStep]:
    """The ranks' lines put together; a step counts in the last life that trained it, if all its ranks did."""
    found: dict[tuple[int, int], list[dict[Any, Any]]] = {}
    for entry in _entries(folder):
        found.setdefault((entry["life"], entry["step"]), []).append(entry)
    last = {step: life for life, step in sorted(found)}
    steps = []
    for (life, step), entries in sorted(found.items()):
        in_order = sorted(entries, key=lambda entry: entry["rank"])
        examples = [example for entry in in_order for example in entry["examples"]]
        steps.append(ElasticStep(step, life, entries[0]["world_size"], examples, last[step] == life))
    return steps
