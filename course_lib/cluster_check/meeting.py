"""Rendezvous of the ranks: which rank this process is (by torchrun, Slurm or by hand), and where all ranks meet."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import psutil
import torch.distributed as dist

from course_lib.cluster_check.findings import ADDRESS, PORT, PROBLEM, RANKS, CheckError, ClusterFinding
from course_lib.comm.processes.machine import Position, find_position, under_torchrun

BY_HAND = "--nnodes"  # one process on each machine, and no launcher
DEFAULT_PORT = 29500  # torchrun's own default
_SLURM = ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID")


class RankPlace(NamedTuple):
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


def find_place(endpoint: str = "", nodes: int = 0, node_rank: int | None = None) -> RankPlace:
    """Which rank this process is, and where all meet.

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
    return RankPlace(0, 1, 0, 1, "127.0.0.1", 0, True, "nobody")


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


def _placed(position: Position, endpoint: str, launcher: str, keeps: bool) -> RankPlace:
    given = os.environ.get("MASTER_ADDR", "")
    host, port = _split(endpoint) if endpoint else (given, int(os.environ.get("MASTER_PORT", DEFAULT_PORT)))
    if not host:
        words = (
            f"{launcher} made this rank {position.rank} of {position.world_size}, and nobody says where they meet: set "
            "MASTER_ADDR and MASTER_PORT to the machine of rank 0 and a free port of it, or give --endpoint HOST:PORT"
        )
        raise CheckError([ClusterFinding(PROBLEM, words, RANKS)])
    return RankPlace(*position, host, port, keeps and position.rank == 0, launcher)


def _by_hand(endpoint: str, nodes: int, node_rank: int | None) -> RankPlace:
    host, port = _split(endpoint)
    if node_rank is not None and not 0 <= node_rank < nodes:
        raise ValueError(f"--node-rank must be from 0 to --nnodes - 1, got {node_rank} of {nodes}")
    first = is_own_address(host) if node_rank is None else node_rank == 0
    return RankPlace(0 if first else node_rank, nodes, 0, 1, host, port, first, BY_HAND)


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
        return endpoint, DEFAULT_PORT
    if not port.isdecimal():
        raise ValueError(f"an endpoint is HOST or HOST:PORT, got {endpoint!r}")
    return host.strip("[]"), int(port)


# --- The rendezvous before there is any process group: what each rank says, and which ranks are missing.


_BEAT_S = 0.5
_CHECK = "course_lib check"
_LISTEN_S = 2.0  # how long the heartbeat of a missing rank is watched


class MissingRanks(Exception):
    """Ranks did not say their part of a phase in time.

    Attributes:
        ranks: who did not.
        silent: which of them have no heartbeat either.
        parts: what the others said, by rank.
    """

    def __init__(self, phase: str, ranks: Sequence[int], silent: Sequence[int], parts: dict[int, Any]) -> None:
        self.phase, self.parts = phase, parts
        self.ranks, self.silent = list(ranks), list(silent)
        super().__init__(f"ranks {self.ranks} did not end {phase}")


class Meeting:
    """The rendezvous of all ranks: `torch.distributed`'s TCPStore, asked with a time-out; each rank has a heartbeat.

    Attributes:
        rank: this process's, given by the order of coming where the place does not say it.
    """

    def __init__(self, place: RankPlace, connect: Callable[[], Any], timeout_s: float) -> None:
        run = f"check/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
        self.place, self.timeout_s = place, timeout_s
        self.tcp_store = connect()
        self.store = dist.PrefixStore(run, self.tcp_store)
        self.rank = place.rank if place.rank is not None else int(self.store.add("came", 1))
        self.world_size = place.world_size
        self._over = threading.Event()
        beats = dist.PrefixStore(run, self.tcp_store.clone())
        threading.Thread(target=self._beat, args=(beats,), name="beat", daemon=True).start()

    def gather(self, phase: str, part: Any) -> list[Any]:
        """What every rank has to say of a phase, by rank; all must call it.

        Raises:
            MissingRanks: if some do not within the time-out.
        """
        self.store.set(f"{phase}/{self.rank}", json.dumps(part))
        keys = [f"{phase}/{rank}" for rank in range(self.world_size)]
        with contextlib.suppress(dist.DistStoreError):
            self.store.wait(keys, timedelta(seconds=self.timeout_s))
        there = [rank for rank, key in enumerate(keys) if self.store.check([key])]
        parts = {rank: json.loads(self.store.get(keys[rank])) for rank in there}
        missing = [rank for rank in range(self.world_size) if rank not in parts]
        if missing:
            raise MissingRanks(phase, missing, self._silent(missing), parts)
        return [parts[rank] for rank in range(self.world_size)]

    def say_once(self, speaker: int, say: Callable[[], None], absent: Sequence[int] = ()) -> None:
        """Let one rank print, while the others wait: a launcher ends all ranks when the first one leaves.

        Args:
            absent: whom nobody waits for. The rank that keeps the store leaves last.
        """
        patience = timedelta(seconds=self.timeout_s + 10)
        with contextlib.suppress(dist.DistError):
            if self.rank == speaker:
                say()
                self.store.set("said", "1")
            else:
                self.store.wait(["said"], patience)
            self.store.set(f"left/{self.rank}", "1")
            if self.place.keeps_store:
                there = [rank for rank in range(self.world_size) if rank not in absent]
                self.store.wait([f"left/{rank}" for rank in there], patience)

    def close(self) -> None:
        """Stop the heartbeat."""
        self._over.set()

    def _beat(self, store: Any) -> None:
        with contextlib.suppress(dist.DistError):
            while not self._over.wait(_BEAT_S):
                store.add(f"beat/{self.rank}", 1)

    def _silent(self, ranks: Sequence[int]) -> list[int]:
        before = [self.store.add(f"beat/{rank}", 0) for rank in ranks]
        time.sleep(_LISTEN_S)
        return [rank for rank, beats in zip(ranks, before, strict=True) if self.store.add(f"beat/{rank}", 0) == beats]


def meet(place: RankPlace, timeout_s: float) -> Meeting:
    """Join the rendezvous of all ranks.

    Raises:
        CheckError: if the port is taken, or nobody is reached there; the finding says which.
    """
    if place.keeps_store:
        return Meeting(place, lambda: _keep_store(place), timeout_s)
    _reach(place, timeout_s)
    return Meeting(place, lambda: _ask_store(place, timeout_s), timeout_s)


def _keep_store(place: RankPlace) -> Any:
    try:
        return dist.TCPStore(
            "127.0.0.1" if not place.port else place.host, place.port, is_master=True, wait_for_workers=False
        )
    except dist.DistNetworkError as error:
        if "EADDRINUSE" not in str(error):
            raise CheckError(
                [ClusterFinding(PROBLEM, f"{place.address} cannot be listened at: {error}", ADDRESS)]
            ) from error
        by = _who_listens(place.port)
        again = place.launcher == BY_HAND and _CHECK in by
        advice = (
            "Several on one machine: give each its --node-rank"
            if again
            else "End it if it is yours, or choose another port"
        )
        words = (
            f"port {place.port} of this machine ({socket.gethostname()}), at which all ranks were to meet, is taken"
            f"{by}. {advice}"
        )
        raise CheckError([ClusterFinding(PROBLEM, words, PORT)]) from error


def _who_listens(port: int) -> str:
    """The process that listens at a port, as far as this user may know."""
    with contextlib.suppress(psutil.Error, OSError):
        for one in psutil.net_connections("tcp"):
            if one.status == psutil.CONN_LISTEN and one.laddr.port == port and one.pid:
                process = psutil.Process(one.pid)
                what = _CHECK if _CHECK in " ".join(process.cmdline()) else process.name()
                return f" by process {one.pid} ({what})"
    return ""


def _reach(place: RankPlace, timeout_s: float) -> None:
    """Wait until somebody listens where all meet.

    A name may be unknown at first: Kubernetes makes it when the machine is ready.

    Raises:
        CheckError: if the name means nothing here, or nobody listens in time.
    """
    me = f"rank {place.rank} on {socket.gethostname()}" if place.rank is not None else socket.gethostname()
    deadline_s = time.monotonic() + timeout_s
    while True:
        try:
            socket.create_connection((place.host, place.port), timeout=2.0).close()
            return
        except OSError as error:
            if time.monotonic() > deadline_s:
                raise CheckError(
                    [ClusterFinding(PROBLEM, _not_reached(me, place, error, timeout_s), ADDRESS)]
                ) from error
        time.sleep(0.2)


def _not_reached(me: str, place: RankPlace, error: OSError, timeout_s: float) -> str:
    words = (
        f"{me} was told to meet the others at {place.address} and for {timeout_s:g} s reached nobody there ({error}). "
    )
    if isinstance(error, socket.gaierror):
        return words + "This machine knows no other of this name: is it written right, or give the address in numbers"
    if isinstance(error, ConnectionRefusedError):
        return words + "The machine is there, and nobody listens at this port: rank 0 has not come, or is elsewhere"
    return words + "A wrong address, or a firewall between: try `ping` and `nc -zv` with this address and port"


def _ask_store(place: RankPlace, timeout_s: float) -> Any:
    """A client of the store; what listens there may be something else, which never answers."""
    found: list[Any] = []

    def connect() -> None:
        with contextlib.suppress(dist.DistError):
            found.append(dist.TCPStore(place.host, place.port, is_master=False, timeout=timedelta(seconds=timeout_s)))

    asking = threading.Thread(target=connect, daemon=True)
    asking.start()
    asking.join(timeout_s + 2)
    if not found:
        words = f"at {place.address} somebody listens who is not this run's rank 0: another run has the port"
        raise CheckError([ClusterFinding(PROBLEM, words, PORT)])
    return found[0]
