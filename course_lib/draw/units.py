"""Numbers as people read them: three digits and a unit."""

from __future__ import annotations

import math

__all__ = ["format_bytes", "format_rate", "format_seconds", "time_unit"]

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def format_bytes(count: float) -> str:
    """A number of bytes: binary units where they come out even, decimal units otherwise.

    >>> format_bytes(1024), format_bytes(64 * 2**20), format_bytes(400_000_000), format_bytes(12)
    ('1 KiB', '64 MiB', '400 MB', '12 B')
    """
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        whole = count / 1024**power
        if 1 <= whole < 1024 and (whole * 4).is_integer():
            return f"{whole:g} {unit}"
    return _decimal(count, "B")


def format_rate(bytes_per_s: float) -> str:
    """Bytes per second in decimal units.

    >>> format_rate(12.5e9), format_rate(float("inf"))
    ('12.5 GB/s', 'unlimited')
    """
    return "unlimited" if math.isinf(bytes_per_s) else _decimal(bytes_per_s, "B/s")


def format_seconds(seconds: float) -> str:
    """A time with three digits.

    >>> format_seconds(0.0123456), format_seconds(5e-6), format_seconds(0)
    ('12.3 ms', '5 µs', '0 s')
    """
    if not seconds or not math.isfinite(seconds):
        return f"{seconds:g} s"
    scale, unit = time_unit(seconds)
    return f"{_three(seconds / scale)} {unit}"


def time_unit(longest_s: float) -> tuple[float, str]:
    """The unit in which times up to `longest_s` read best: its length in seconds and its name.

    >>> time_unit(0.02)
    (0.001, 'ms')
    """
    for scale, unit in _TIMES:
        if abs(longest_s) >= 0.9995 * scale:
            return scale, unit
    return _TIMES[-1]


def _decimal(count: float, unit: str) -> str:
    for scale, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(count) >= 0.9995 * scale:
            return f"{_three(count / scale)} {prefix}{unit}"
    return f"{_three(count)} {unit}"


def _three(number: float) -> str:
    """Three significant digits, without an exponent below a million."""
    return f"{number:.0f}" if 999.5 <= abs(number) < 1e6 else f"{number:.3g}"
