"""How long `make test` takes from start to green."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

from benchmarks.row import Row

__all__ = ["measure"]


def measure() -> Iterator[Row]:
    """Minutes of one call of `make test`, with the environment in place."""
    began_s = time.perf_counter()
    subprocess.run(["make", "test"], check=True, stdout=subprocess.DEVNULL)
    minutes = (time.perf_counter() - began_s) / 60
    yield Row("tests", "make test, until green", minutes, "min", (minutes, minutes), "at most 25")
