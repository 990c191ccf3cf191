"""A rank's pipe to the parent, shared by the thread of its program and the thread of its started functions."""

from __future__ import annotations

import itertools
import threading
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["SharedPipe"]


class SharedPipe:
    """Both threads send; the parent's answers carry the `number` of what they answer, and one thread at a time reads.

    Attributes:
        numbers: numbers for what the two threads ask, each given once.
    """

    def __init__(self, link: Connection) -> None:
        self.numbers = itertools.count()
        self._link, self._sending = link, threading.Lock()
        self._answers: dict[int, Any] = {}
        self._changed, self._is_read = threading.Condition(), False

    def send(self, message: Any) -> None:
        """Say something to the parent."""
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
