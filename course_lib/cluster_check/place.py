"""Which rank this process is, and at which address all of them meet: from torchrun, other launchers, or by hand."""

from __future__ import annotations

import os
import re
import socket
from typing import NamedTuple

from course_lib.cluster_check.findings import PROBLEM, RANKS, CheckError, Finding
from course_lib.comm.processes.machine import Position, find_position, under_torchrun

__all__ = ["BY_HAND", "Place", "find_place", "is_own_address"]

BY_HAND = "--nnodes"  # one process on each machine, and no launcher
PORT = 29500  # torchrun's own default
_SLURM = ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID")


class Place(NamedTuple):
    """Which of the ranks this is, and where they meet.

    Attributes:
        rank: None if it is given by the order in which the machines come.
        host: the name or address at which all meet, as it was given.
        keeps_store: whether this process is the one that listens there.
        launcher: who said so: "torchrun", "RANK and WORLD_SIZE", "Slurm", "--nnodes" or "nobody".
    """

    rank: int | None
    world_size: int
    local_rank: int
    local_world_size: int
    host: str
    port: int
    keeps_store: bool
    launcher: str

    @property
    def address(self) -> str:
        """Where all meet, in one word."""
        return f"{self.host}:{self.port}"


def find_place(endpoint: str = "", nodes: int = 0, node_rank: int | None = None) -> Place:
    """This process's place.

    Args:
        endpoint: HOST or HOST:PORT where all meet, if no launcher has said it (MASTER_ADDR, MASTER_PORT).
        nodes: how many machines take part, by one process each, if nobody has started ranks.
        node_rank: which of them this is; None numbers them as they come, the one that has the endpoint's address first.

    Raises:
        CheckError: if somebody has said which rank this is, and nobody where to meet.
        ValueError: if the numbers cannot be.
    """
    if under_torchrun():
        agent = "TORCHELASTIC_RUN_ID" in os.environ
        keeps = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
        return _placed(find_position(), endpoint, "torchrun" if agent else "RANK and WORLD_SIZE", keeps)
    if all(name in os.environ for name in _SLURM) and (endpoint or os.environ["SLURM_NTASKS"] != "1"):
        rank, world_size, local_rank = (int(os.environ[name]) for name in _SLURM)
        world_size = int(os.environ.get("SLURM_STEP_NUM_TASKS", str(world_size)))
        local = _slurm_ranks_here(local_rank)
        return _placed(Position(rank, world_size, local_rank, local), endpoint, "Slurm", True)
    if nodes > 1 and endpoint:
        return _by_hand(endpoint, nodes, node_rank)
    return Place(0, 1, 0, 1, "127.0.0.1", 0, True, "nobody")


def _slurm_ranks_here(local_rank: int) -> int:
    """How many ranks of this step the machine has, for which each of them finds the same number.

    The step's own list says it, machine by machine; the job's number a machine may be another one.
    """
    text = os.environ.get("SLURM_STEP_TASKS_PER_NODE") or os.environ.get("SLURM_TASKS_PER_NODE", "")
    if counts := _tasks_of_nodes(text):
        node = int(os.environ.get("SLURM_NODEID", "0"))
        if len(counts) == 1 or node < len(counts):
            return max(counts[min(node, len(counts) - 1)], local_rank + 1)
    return max(int(os.environ.get("SLURM_NTASKS_PER_NODE", "1")), local_rank + 1)


def _tasks_of_nodes(text: str) -> list[int]:
    """The numbers of Slurm's short form, one for each machine; none if it is something else.

    Source: Slurm's manual page of srun, output environment, SLURM_STEP_TASKS_PER_NODE.

    >>> _tasks_of_nodes("2(x3),1"), _tasks_of_nodes("8"), _tasks_of_nodes("")
    ([2, 2, 2, 1], [8], [])
    """
    counts: list[int] = []
    for part in text.split(",") if text else []:
        match = re.fullmatch(r"\s*(\d+)(?:\(x(\d+)\))?\s*", part)
        if match is None:
            return []
        counts += [int(match[1])] * int(match[2] or 1)
    return counts


def _placed(position: Position, endpoint: str, launcher: str, keeps: bool) -> Place:
    given = os.environ.get("MASTER_ADDR", "")
    host, port = _split(endpoint) if endpoint else (given, int(os.environ.get("MASTER_PORT", PORT)))
    if not host:
        words = (
            f"{launcher} made this rank {position.rank} of {position.world_size}, and nobody says where they meet: set "
            "MASTER_ADDR and MASTER_PORT to the machine of rank 0 and a free port of it, or give --endpoint HOST:PORT"
        )
        raise CheckError([Finding(PROBLEM, words, RANKS)])
    return Place(*position, host, port, keeps and position.rank == 0, launcher)


def _by_hand(endpoint: str, nodes: int, node_rank: int | None) -> Place:
    host, port = _split(endpoint)
    if node_rank is not None and not 0 <= node_rank < nodes:
        raise ValueError(f"--node-rank must be from 0 to --nnodes - 1, got {node_rank} of {nodes}")
    first = is_own_address(host) if node_rank is None else node_rank == 0
    return Place(0 if first else node_rank, nodes, 0, 1, host, port, first, BY_HAND)


def is_own_address(host: str) -> bool:
    """Whether a name or address is this machine's.

    >>> is_own_address("127.0.0.1")
    True
    """
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return any(_can_listen(family, where) for family, *_, where in found)


def _can_listen(family: int, where: tuple[object, ...]) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as one:
        try:
            one.bind(where)
        except OSError:
            return False
    return True


def _split(endpoint: str) -> tuple[str, int]:
    """The host and the port of HOST:PORT.

    Raises:
        ValueError: if the port is no number.
    """
    host, colon, port = endpoint.rpartition(":")
    if not colon:
        return endpoint, PORT
    if not port.isdecimal():
        raise ValueError(f"an endpoint is HOST or HOST:PORT, got {endpoint!r}")
    return host.strip("[]"), int(port)
