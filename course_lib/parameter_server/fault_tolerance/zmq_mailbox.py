"""Messages between processes over ZeroMQ: a peer may die and come back, and nobody else notices more than silence.

A mailbox that is called holds a ROUTER socket, which knows each caller by name and drops what goes to one who is gone.
A mailbox that calls holds a DEALER socket for each address, which connects again whenever somebody answers there.
Addresses are names in a folder (Unix domain sockets), so there are no ports to run out of.

Source: P. Hintjens, "ZeroMQ", 2013, chapters 3 (ROUTER and DEALER) and 4 (reliable request and reply).
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import zmq

from course_lib.parameter_server.actor import Mailbox, Message

_ANSWERS = {"parameters": "pull", "acknowledge": "push"}  # which message is settled by which answer
_RECONNECT_MS = 5
_LINGER_S = 2.0  # how long what was sent may take to leave when a mailbox is closed
_LONGEST_SILENCE_S = 1.0


class ZmqMailbox(Mailbox):
    """Address `rank` among those whose names lie in `folder`.

    Args:
        calls: addresses that it writes to first; whoever calls nobody is called.
        silence_s: send each pull and push again that was not answered for so long, then after twice that time, and so
            on; None: trust that messages arrive. Whoever gets a message twice must know it (see `IdempotentServer`).

    Raises:
        ValueError: if `silence_s` is not more than 0, or the folder's name too long for a socket in it.
    """

    def __init__(
        self, folder: Path | str, rank: int, calls: Iterable[int] = (), silence_s: float | None = None
    ) -> None:
        if silence_s is not None and not silence_s > 0:
            raise ValueError(f"silence_s must be more than 0, or None, got {silence_s}")
        self.rank, self.silence_s = rank, silence_s
        callees = list(calls)
        addresses = {each: _address(folder, each) for each in callees or [rank]}
        self._context = zmq.Context()
        self._callees = {dst: self._call(addresses[dst]) for dst in callees}
        self.sent_again = 0
        self._unanswered: dict[int, list[Message]] = {dst: [] for dst in self._callees}
        self._patience_s = dict.fromkeys(self._callees, silence_s or 0.0)
        self._next_look_s = dict.fromkeys(self._callees, 0.0)
        if not self._callees:
            self.socket = self._open(zmq.ROUTER)
            self.socket.bind(addresses[rank])
        self._sockets = deque(self._callees.values() or [self.socket])
        self._poller = zmq.Poller()
        for socket in self._sockets:
            self._poller.register(socket, zmq.POLLIN)

    def _open(self, kind: int) -> zmq.Socket[Any]:
        socket = self._context.socket(kind)
        # No limit on messages that wait: a ROUTER drops what is over it, and the protocol has few messages under way.
        socket.set_hwm(0)
        socket.setsockopt(zmq.RECONNECT_IVL, _RECONNECT_MS)
        return socket

    def _call(self, address: str) -> zmq.Socket[Any]:
        socket = self._open(zmq.DEALER)
        socket.setsockopt(zmq.ROUTING_ID, str(self.rank).encode())
        socket.connect(address)
        return socket

    def send(self, dst: int, message: Message) -> None:
        if dst not in self._callees:
            self.socket.send_multipart([str(dst).encode(), *message.to_bytes()])
            return
        self._callees[dst].send_multipart(message.to_bytes())
        if self.silence_s is not None and message.kind in _ANSWERS.values():
            self._unanswered[dst].append(message)
            self._expect(dst, self.silence_s)

    def receive(self) -> Message:
        while (message := self.receive_now()) is None:
            if not self._poller.poll(self._wait_ms()):
                self._send_again()
        return message

    def receive_now(self) -> Message | None:
        """A message that is there already; None if there is none, or an answer that came twice."""
        for _ in range(len(self._sockets)):
            socket = self._sockets[0]
            self._sockets.rotate(-1)  # the next turn begins with the next socket
            try:
                frames = socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                continue
            message = Message.from_bytes(frames if self._callees else frames[1:])
            return message if self._settles(message) else None
        return None

    def now(self) -> float:
        return time.perf_counter()

    def compute(self, seconds: float, label: str = "compute") -> None:
        time.sleep(seconds)

    def close(self, linger_s: float = _LINGER_S) -> None:
        self._context.destroy(linger=int(linger_s * 1000))

    def _settles(self, answer: Message) -> bool:
        """Cross out what the message answers; False if nothing was asked any more."""
        asked = self._unanswered.get(answer.sender)
        if self.silence_s is None or answer.kind not in _ANSWERS or asked is None:
            return True
        for message in asked:
            if message.kind == _ANSWERS[answer.kind] and (message.kind == "pull" or message.clock == answer.clock):
                asked.remove(message)
                self._expect(answer.sender, self.silence_s)
                return True
        return False

    def _expect(self, dst: int, patience_s: float) -> None:
        """An answer from `dst` within this time."""
        self._patience_s[dst] = min(patience_s, _LONGEST_SILENCE_S)
        self._next_look_s[dst] = self.now() + self._patience_s[dst]

    def _wait_ms(self) -> int | None:
        """How long to wait before messages are sent again; None: as long as it takes."""
        looks = [self._next_look_s[dst] for dst, asked in self._unanswered.items() if asked]
        return max(1, math.ceil((min(looks) - self.now()) * 1000)) if looks else None

    def _send_again(self) -> None:
        """Say once more what was not answered in time, to each in the order in which it was said first."""
        for dst, asked in self._unanswered.items():
            if asked and self.now() >= self._next_look_s[dst]:
                for message in asked:
                    self._callees[dst].send_multipart(message.to_bytes())
                self.sent_again += len(asked)
                self._expect(dst, 2 * self._patience_s[dst])


def _address(folder: Path | str, rank: int) -> str:
    name = os.fsencode(f"{folder}/{rank}")
    if len(name) > zmq.IPC_PATH_MAX_LEN:
        words = f"sockets have names of {zmq.IPC_PATH_MAX_LEN} bytes at most, got {len(name)}"
        raise ValueError(f"{words}: take a shorter folder than {folder} (TMPDIR says where temporary ones are)")
    return f"ipc://{folder}/{rank}"
