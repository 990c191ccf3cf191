"""Who reaches whom, by plain TCP and before Gloo tries it for half an hour; and how far apart their clocks are."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from typing import NamedTuple

__all__ = ["Answer", "Doorbell", "ring_at"]

_ANSWER = struct.Struct("!16sd")  # whose doorbell it is, and the time on its clock
_PATIENCE_S = 3.0
_ROUNDS = 8


class Answer(NamedTuple):
    """What ringing at a rank gave: its round trip and its clock minus ours, or why nobody answered."""

    seconds: float = 0.0
    clock_offset_s: float = 0.0
    trouble: str = ""


class Doorbell:
    """A port at this rank's address that tells whoever rings who lives there, and the time on its clock.

    Args:
        address: where to listen.
        name: 16 bytes, this rank's alone; at a wrong address somebody else's doorbell may answer.
    """

    def __init__(self, address: str, name: bytes) -> None:
        self._name = name
        self._socket = socket.create_server((address, 0), backlog=256)
        self.port = int(self._socket.getsockname()[1])
        threading.Thread(target=self._answer, name="doorbell", daemon=True).start()

    def close(self) -> None:
        """Take the doorbell off."""
        self._socket.close()

    def _answer(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                guest, _ = self._socket.accept()
                threading.Thread(target=self._talk, args=(guest,), daemon=True).start()

    def _talk(self, guest: socket.socket) -> None:
        with guest, contextlib.suppress(OSError):
            while guest.recv(1):
                guest.sendall(_ANSWER.pack(self._name, time.time()))


def ring_at(address: str, port: int, name: bytes) -> Answer:
    """Ring at a rank's doorbell some times; the quickest round trip tells its clock best.

    The other clock was read somewhere within the round trip; its middle is off by half of it at most.

    Source: F. Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989.
    """
    best = Answer(float("inf"))
    try:
        with socket.create_connection((address, port), timeout=_PATIENCE_S) as door:
            door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(_ROUNDS):
                started_s, at_s = time.perf_counter(), time.time()
                door.sendall(b"?")
                who, clock_s = _ANSWER.unpack(_read(door, _ANSWER.size))
                took_s = time.perf_counter() - started_s
                if who != name:
                    return Answer(trouble="somebody else answers there")
                if took_s < best.seconds:
                    best = Answer(took_s, clock_s - (at_s + took_s / 2))
    except OSError as error:
        return Answer(trouble=str(error) or type(error).__name__)
    return best


def _read(door: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        piece = door.recv(count - len(got))
        if not piece:
            raise OSError("somebody who is no rank answers there")
        got += piece
    return got
