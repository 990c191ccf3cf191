"""Client of an object store: it retries with exponential back-off and keeps a record of every try; and many of them."""

from __future__ import annotations

import contextlib
import http.client
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from types import TracebackType
from urllib.parse import quote, urlsplit

from course_lib.comm import Communicator, run
from course_lib.storage.object_store.request_log import Request


@dataclass(frozen=True)
class Backoff:
    """Exponential back-off with full jitter: before try n + 1, anything from 0 to base_s · 2^(n - 1), at most cap_s.

    Doubling leaves a server that is overloaded the time to recover. Jitter keeps clients that failed together from
    coming back together.

    Args:
        base_s, cap_s: the longest first wait, and the longest of all; 0 and 0 wait for nothing.
        tries: how many in all, before it is an error.
        jitter: without it, clients wait exactly the longest time.

    Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
    """

    base_s: float = 0.01
    cap_s: float = 0.25
    tries: int = 60
    jitter: bool = True

    def __post_init__(self) -> None:
        if self.tries < 1 or not 0 <= self.base_s <= self.cap_s:
            raise ValueError(f"needs tries of at least 1 and 0 <= base_s <= cap_s, got {self}")

    def wait_s(self, failed: int, draw: random.Random) -> float:
        """Seconds to wait after so many failed tries.

        >>> [Backoff(base_s=1, cap_s=5, jitter=False).wait_s(failed, random.Random(0)) for failed in (1, 2, 3, 4)]
        [1, 2, 4, 5]
        """
        # A power beyond 2^60 is beyond every cap, and at some length no float any more.
        longest_s = min(self.cap_s, self.base_s * 2 ** min(failed - 1, 60))
        return draw.uniform(0, longest_s) if self.jitter else longest_s


# What may be well again a moment later. All else, such as 404, will be the same the next time.
_PASSING = {408, 429, 500, 502, 503, 504, "time-out", "no connection", "cut off"}
_LONGEST_WAIT_S = 60.0  # whatever a server asks for


class StoreError(Exception):
    """An object could not be read: which one, from where, after how many tries, and what the last one met."""


class StoreClient:
    """Reads objects one after the other over one connection that stays open.

    Args:
        url: the server's address.
        backoff: how often a request is tried, and how long to wait in between.
        timeout_s: how long the server may be silent before a try has failed.
        seed: of the jitter; each client should have its own.

    Attributes:
        tries: every try so far, in order.
    """

    def __init__(
        self,
        url: str,
        backoff: Backoff | None = None,
        *,
        timeout_s: float = 5.0,
        seed: int = 0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url
        self.backoff = backoff or Backoff()
        self.timeout_s = timeout_s
        self.tries: list[Request] = []
        self._draw = random.Random(seed)
        self._sleep = sleep
        self._asked_wait_s = 0.0
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=timeout_s)

    def __enter__(self) -> StoreClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()

    def get(self, name: str) -> bytes:
        """All bytes of an object; tried again until they are here, not before the server wants it (Retry-After).

        Raises:
            StoreError: if the server has no such object, or the last try failed.
        """
        for failed in range(1, self.backoff.tries + 1):
            status, body = self.try_once(name)
            if status == 200:
                return body
            if status not in _PASSING or failed == self.backoff.tries:
                break
            self._sleep(max(self.backoff.wait_s(failed, self._draw), self._asked_wait_s))
        tries = f"{failed} of {self.backoff.tries} tries"
        raise StoreError(f"{name!r} cannot be read from {self.url}: {status}, after {tries}")

    def try_once(self, name: str) -> tuple[int | str, bytes]:
        """One request: its status, or what went wrong in a word, and the bytes if all came."""
        began_ns = time.monotonic_ns()
        body = b""
        self._asked_wait_s = 0.0
        status: int | str
        try:
            self._connection.request("GET", "/" + quote(name))
            response = self._connection.getresponse()
            body, status = response.read(), response.status
            self._asked_wait_s = _seconds_until(response.getheader("Retry-After", ""))
        except (OSError, http.client.HTTPException) as error:
            # What is left of an answer must not be taken for the next one's.
            self._connection.close()
            status = _in_a_word(error)
        self.tries.append(Request(began_ns, time.monotonic_ns(), status, len(body), name))
        return status, body


def _seconds_until(asked: str) -> float:
    """What a Retry-After says, seconds or a date, and a minute at most; 0: nothing that can be understood.

    >>> _seconds_until("2"), _seconds_until("Fri, 31 Dec 1999 23:59:59 GMT"), _seconds_until("soon")
    (2.0, 0.0, 0.0)
    """
    try:
        wait_s = float(asked) if asked.isdecimal() else parsedate_to_datetime(asked).timestamp() - time.time()
    except ValueError:
        return 0.0
    return min(max(0.0, wait_s), _LONGEST_WAIT_S)


def _in_a_word(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "time-out"
    return "no connection" if isinstance(error, ConnectionRefusedError) else "cut off"


def load(
    url: str, names: Sequence[str], clients: int, backoff: Backoff | None = None, *, timeout_s: float = 5.0
) -> list[list[Request]]:
    """Each client's tries when `clients` processes read the objects, each its share, one request after the other."""
    return run(read_share, clients, args=(url, list(names), backoff, timeout_s)).results


def read_share(
    comm: Communicator, url: str, names: Sequence[str], backoff: Backoff | None, timeout_s: float
) -> list[Request]:
    """Every world_size-th object is read by this rank. What cannot be read is on record as a try that failed."""
    with StoreClient(url, backoff, timeout_s=timeout_s, seed=comm.rank) as client:
        comm.barrier()
        for name in names[comm.rank :: comm.world_size]:
            with contextlib.suppress(StoreError):
                client.get(name)
    return client.tries
