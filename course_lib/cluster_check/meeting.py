"""Where all ranks meet before there is any process group: what each has to say, and who has not come."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import psutil
import torch.distributed as dist

from course_lib.cluster_check.findings import ADDRESS, PORT, PROBLEM, CheckError, Finding
from course_lib.cluster_check.place import BY_HAND, Place

__all__ = ["Meeting", "Missing", "meet"]

_BEAT_S = 0.5
_CHECK = "course_lib check"
_LISTEN_S = 2.0  # so long a missing rank's signs of life are listened to


class Missing(Exception):
    """Ranks did not say their part of a phase in time.

    Attributes:
        ranks: who did not.
        silent: which of them give no sign of life either.
        parts: what the others said, by rank.
    """

    def __init__(self, phase: str, ranks: Sequence[int], silent: Sequence[int], parts: dict[int, Any]) -> None:
        self.phase, self.parts = phase, parts
        self.ranks, self.silent = list(ranks), list(silent)
        super().__init__(f"ranks {self.ranks} did not end {phase}")


class Meeting:
    """The ranks' notice board: `torch.distributed`'s own TCPStore, asked with a time-out.

    Attributes:
        rank: this process's, given by the order of coming where the place does not say it.
    """

    def __init__(self, place: Place, connect: Callable[[], Any], timeout_s: float) -> None:
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
            Missing: if some do not within the time-out.
        """
        self.store.set(f"{phase}/{self.rank}", json.dumps(part))
        keys = [f"{phase}/{rank}" for rank in range(self.world_size)]
        with contextlib.suppress(dist.DistStoreError):
            self.store.wait(keys, timedelta(seconds=self.timeout_s))
        there = [rank for rank, key in enumerate(keys) if self.store.check([key])]
        parts = {rank: json.loads(self.store.get(keys[rank])) for rank in there}
        missing = [rank for rank in range(self.world_size) if rank not in parts]
        if missing:
            raise Missing(phase, missing, self._silent(missing), parts)
        return [parts[rank] for rank in range(self.world_size)]

    def say_once(self, speaker: int, say: Callable[[], None], absent: Sequence[int] = ()) -> None:
        """Let one rank speak, and the others wait for it: a launcher ends all when the first one leaves.

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
        """Give no more signs of life."""
        self._over.set()

    def _beat(self, store: Any) -> None:
        with contextlib.suppress(dist.DistError):
            while not self._over.wait(_BEAT_S):
                store.add(f"beat/{self.rank}", 1)

    def _silent(self, ranks: Sequence[int]) -> list[int]:
        before = [self.store.add(f"beat/{rank}", 0) for rank in ranks]
        time.sleep(_LISTEN_S)
        return [rank for rank, beats in zip(ranks, before, strict=True) if self.store.add(f"beat/{rank}", 0) == beats]


def meet(place: Place, timeout_s: float) -> Meeting:
    """Go to where all ranks meet.

    Raises:
        CheckError: if the port is taken, or nobody is reached there; the finding says which.
    """
    if place.keeps_store:
        return Meeting(place, lambda: _keep_store(place), timeout_s)
    _reach(place, timeout_s)
    return Meeting(place, lambda: _ask_store(place, timeout_s), timeout_s)


def _keep_store(place: Place) -> Any:
    try:
        return dist.TCPStore(
            "127.0.0.1" if not place.port else place.host, place.port, is_master=True, wait_for_workers=False
        )
    except dist.DistNetworkError as error:
        if "EADDRINUSE" not in str(error):
            raise CheckError([Finding(PROBLEM, f"{place.address} cannot be listened at: {error}", ADDRESS)]) from error
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
        raise CheckError([Finding(PROBLEM, words, PORT)]) from error


def _who_listens(port: int) -> str:
    """By whom a port is taken, as far as this user may know."""
    with contextlib.suppress(psutil.Error, OSError):
        for one in psutil.net_connections("tcp"):
            if one.status == psutil.CONN_LISTEN and one.laddr.port == port and one.pid:
                process = psutil.Process(one.pid)
                what = _CHECK if _CHECK in " ".join(process.cmdline()) else process.name()
                return f" by process {one.pid} ({what})"
    return ""


def _reach(place: Place, timeout_s: float) -> None:
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
                raise CheckError([Finding(PROBLEM, _not_reached(me, place, error, timeout_s), ADDRESS)]) from error
        time.sleep(0.2)


def _not_reached(me: str, place: Place, error: OSError, timeout_s: float) -> str:
    words = (
        f"{me} was told to meet the others at {place.address} and for {timeout_s:g} s reached nobody there ({error}). "
    )
    if isinstance(error, socket.gaierror):
        return words + "This machine knows no other of this name: is it written right, or give the address in numbers"
    if isinstance(error, ConnectionRefusedError):
        return words + "The machine is there, and nobody listens at this port: rank 0 has not come, or is elsewhere"
    return words + "A wrong address, or a firewall between: try `ping` and `nc -zv` with this address and port"


def _ask_store(place: Place, timeout_s: float) -> Any:
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
        raise CheckError([Finding(PROBLEM, words, PORT)])
    return found[0]
