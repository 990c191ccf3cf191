"""What a process prints, shown here line by line."""

from __future__ import annotations

import contextlib
import os
import sys
from multiprocessing.connection import Connection

__all__ = ["Output"]

_ABORT_SIGNS = (b"gloo::EnforceNotMet", b"[enforce fail at")  # Gloo's own last words; our error says what happened


class Output:
    """The reading end of what one process prints.

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
        """Hear no more."""
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
