"""Non-blocking pipes: messages and output of child processes, read piece by piece, so that none blocks its parent."""

from __future__ import annotations

import contextlib
import itertools
import os
import struct
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

_SHORT, _LONG = struct.Struct("!i"), struct.Struct("!Q")  # how `Connection` writes the length of a message
_PIECE_BYTES = 2**20


class PipeReader:
    """Non-blocking reader of the messages that one process sends.

    >>> from multiprocessing import Pipe
    >>> link, theirs = Pipe()
    >>> theirs.send_bytes(b"first"), theirs._send(_SHORT.pack(6) + b"sec")
    (None, None)
    >>> inbox = PipeReader(link)
    >>> inbox.take()
    [b'first']
    >>> theirs._send(b"ond"), inbox.take()
    (None, [b'second'])
    """

    def __init__(self, link: Connection) -> None:
        self.link, self._begun = link, bytearray()

    def fileno(self) -> int:
        """The number of its file, for whoever waits until there is something to take."""
        return self.link.fileno()

    def take(self) -> list[bytes]:
        """The messages that are whole by now. To be called when there is something to take: else it waits.

        Raises:
            EOFError: at the end, when nobody can say anything any more.
        """
        if sys.platform == "win32":
            return [self.link.recv_bytes()]
        try:
            piece = os.read(self.link.fileno(), _PIECE_BYTES)
        except ConnectionError as error:
            raise EOFError from error
        if not piece:
            raise EOFError
        self._begun += piece
        messages = []
        while (message := self._whole()) is not None:
            messages.append(message)
        return messages

    def take_the_last(self) -> list[bytes]:
        """The messages that are whole, of a process that has died."""
        messages = []
        try:
            while self.link.poll():
                messages += self.take()
        except (EOFError, OSError):
            pass
        return messages

    def close(self) -> None:
        """Close the pipe."""
        self.link.close()

    def _whole(self) -> bytes | None:
        """The first message if it is whole, taken out."""
        begun, start = self._begun, _SHORT.size
        if len(begun) < start:
            return None
        (length,) = _SHORT.unpack_from(begun)
        if length == -1:
            start += _LONG.size
            if len(begun) < start:
                return None
            (length,) = _LONG.unpack_from(begun, _SHORT.size)
        if len(begun) < start + length:
            return None
        message = bytes(memoryview(begun)[start : start + length])
        del begun[: start + length]
        return message


_ABORT_SIGNS = (b"gloo::EnforceNotMet", b"[enforce fail at")  # Gloo's abort; our error says what happened


class OutputReader:
    """Non-blocking reader of what one process prints.

    Args:
        name: stands before each line; None shows nothing.
    """

    def __init__(self, connection: Connection, name: str | None) -> None:
        self.connection, self._name = connection, name
        self._begun: list[bytes] = []  # the pieces of a line whose end has not come

    def fileno(self) -> int:
        """The number of its file, for whoever waits until there is something to show."""
        return self.connection.fileno()

    def show(self) -> bool:
        """Print the whole lines that have come; False at the end, when the connection is closed."""
        data = os.read(self.connection.fileno(), 65536)
        if not data:
            self.connection.close()
            self._print(*filter(None, [self._line()]))
            return False
        first, *others = data.split(b"\n")
        self._begun.append(first)
        if others:
            *whole, rest = others
            self._print(self._line(), *whole)
            self._begun = [rest]
        return True

    def close(self) -> None:
        """Close the pipe."""
        self.connection.close()

    def _line(self) -> bytes:
        """The line that has begun, which is over."""
        line, self._begun = b"".join(self._begun), []
        return line

    def _print(self, *lines: bytes) -> None:
        shown = [line for line in lines if not any(sign in line for sign in _ABORT_SIGNS)]
        if self._name is None or not shown:
            return
        text = "\n".join(f"[{self._name}] {line.decode(errors='replace')}" for line in shown)
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        with contextlib.suppress(BrokenPipeError):  # whoever read it has gone, as in `| head -1`
            print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)


class SharedPipe:
    """A pipe to the parent that two threads share. Answers carry the `number` of their question; one thread reads.

    Attributes:
        numbers: numbers for what the two threads ask, each given once.
    """

    def __init__(self, link: Connection) -> None:
        self.numbers = itertools.count()
        self._link, self._sending = link, threading.Lock()
        self._answers: dict[int, Any] = {}
        self._changed, self._is_read = threading.Condition(), False

    def send(self, message: Any) -> None:
        """Send a message to the parent."""
        with self._sending:
            self._link.send(message)

    def answer(self, number: int) -> Any:
        """The answer to `number` if it has arrived, else None."""
        with self._changed:
            while number not in self._answers and not self._is_read and self._link.poll():
                self._keep(self._link.recv())
            return self._answers.pop(number, None)

    def wait_for(self, number: int) -> Any:
        """The answer to `number`."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: number in self._answers or not self._is_read)
                if number in self._answers:
                    return self._answers.pop(number)
                self._is_read = True
            answer = self._link.recv()  # for whichever thread it is
            with self._changed:
                self._is_read = False
                self._keep(answer)

    def _keep(self, answer: Any) -> None:
        self._answers[answer.number] = answer
        self._changed.notify_all()
