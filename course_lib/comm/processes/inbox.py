"""What a process says through its pipe, taken piece by piece: one that stops inside a message holds nobody up."""

from __future__ import annotations

import os
import struct
import sys
from multiprocessing.connection import Connection

__all__ = ["Inbox"]

_SHORT, _LONG = struct.Struct("!i"), struct.Struct("!Q")  # how `Connection` writes the length of a message
_PIECE_BYTES = 2**20


class Inbox:
    """The reading end of what one process says.

    >>> from multiprocessing import Pipe
    >>> link, theirs = Pipe()
    >>> theirs.send_bytes(b"first"), theirs._send(_SHORT.pack(6) + b"sec")
    (None, None)
    >>> inbox = Inbox(link)
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
        """The messages that are whole, of a process that says no more."""
        messages = []
        try:
            while self.link.poll():
                messages += self.take()
        except (EOFError, OSError):
            pass
        return messages

    def close(self) -> None:
        """Hear no more."""
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
