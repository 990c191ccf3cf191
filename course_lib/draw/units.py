"""Numbers as people read them: three digits and a unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def format_bytes(count: float) -> str:
    """A number of bytes in decimal units, as bandwidths have them, so that the two can be divided.

    >>> format_bytes(12), format_bytes(400_000_000), format_bytes(25 * 2**20)
    ('12 B', '400 MB', '26.2 MB')
    """
    return _decimal(count, "B")


def byte_unit(most: float) -> tuple[float, str]:
    """The unit in which counts up to `most` are written: its size in bytes and its name.

    >>> byte_unit(400e6), byte_unit(12)
    ((1000000.0, 'MB'), (1.0, 'B'))
    """
    scale, prefix = _prefix(most)
    return scale, f"{prefix}B"


def format_count(count: int, one: str, many: str = "") -> str:
    """A number and what it counts.

    >>> format_count(1, "copy", "copies"), format_count(1200, "bucket")
    ('1 copy', '1,200 buckets')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def format_parameters(count: float) -> str:
    """A number of parameters in the words that models are named by.

    >>> format_parameters(8.317e9), format_parameters(2.02e6), format_parameters(512)
    ('8.32 billion', '2.02 million', '512')
    """
    for scale, word in ((1e9, " billion"), (1e6, " million")):
        if count >= 0.9995 * scale:
            return f"{_three(count / scale)}{word}"
    return f"{count:,.0f}"


def format_power(value: float) -> str:
    """A number; of a large or small one that is a power of ten, the power.

    >>> format_power(1e11), format_power(1e-6), format_power(500.0)
    ('10¹¹', '10⁻⁶', '500')
    """
    if value > 0 and (value >= 1e5 or value < 1e-3) and math.isclose(power := math.log10(value), round(power)):
        return power_of(10, round(power))
    return f"{value:,g}"


def power_of(base: int, exponent: int) -> str:
    """A power in letters.

    >>> power_of(2, -24)
    '2⁻²⁴'
    """
    return f"{base}{str(exponent).translate(_RAISED)}"


def format_range(values: Iterable[float], show: Callable[[float], str] = "{:g}".format) -> str:
    """The least and the most of some values, once if they read the same.

    >>> format_range([2e-3, 5e-3, 3e-3], format_seconds), format_range([4.0, 4.0001], "{:.1f}×".format)
    ('2 ms to 5 ms', '4.0×')
    """
    low, high = show(min(values := list(values))), show(max(values))
    return high if low == high else f"{low} to {high}"


def format_rate(bytes_per_s: float) -> str:
    """Bytes per second.

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


def format_share(share: float) -> str:
    """A share in whole percent; what is little is not nothing.

    >>> format_share(0.874), format_share(0.0002), format_share(0)
    ('87%', 'less than 1%', '0%')
    """
    return "less than 1%" if 0 < share < 0.005 else f"{share:.0%}"


def time_unit(longest_s: float) -> tuple[float, str]:
    """The unit in which times up to `longest_s` read best: its length in seconds and its name.

    >>> time_unit(0.02)
    (0.001, 'ms')
    """
    for scale, unit in _TIMES:
        if abs(longest_s) >= 0.9995 * scale:
            return scale, unit
    return _TIMES[-1]


def one_two_five(low: float, high: float) -> list[float]:
    """The numbers 1, 2, 5, 10, ... from `low` to `high`.

    >>> one_two_five(1e-3, 0.02)
    [0.001, 0.002, 0.005, 0.01, 0.02]
    """
    numbers = [float(f"{digit}e{power}") for power in range(-9, 15) for digit in (1, 2, 5)]
    return [x for x in numbers if low * 0.999 <= x <= high * 1.001]


def differ(low: float, high: float) -> bool:
    """Whether two ends lie so far apart that round numbers between them can be told apart with six digits.

    >>> differ(799.9999999999999, 800.0), differ(799.0, 800.0)
    (False, True)
    """
    return high - low > max(1e-4 * max(abs(low), abs(high)), 1e-300)


def round_ticks(end: float, most: int, begin: float = 0.0) -> list[float]:
    """Multiples of 1, 2, 5, 10, 20, ... from `begin` to `end`, at most `most` of them above `begin`; `begin` alone
    where the two do not `differ`.

    >>> round_ticks(187, 4), round_ticks(2.6, 4, 1.9)
    ([0.0, 50.0, 100.0, 150.0], [2.0, 2.2, 2.4, 2.6])
    """
    if not differ(begin, end):
        return [begin]
    each = end / most - begin / most
    power = 10.0 ** math.floor(math.log10(each))
    step = next(f * power for f in (1, 2, 5, 10, 20) if each <= (1 + 1 / most) * f * power * (1 - 1e-9))
    first, last = begin / step, end / step
    close = 1e-9 * max(abs(first), abs(last))
    multiples = range(math.ceil(first - close), math.floor(last + close) + 1)
    return [float(f"{i * step:.12g}") for i in multiples]


def log_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers for a logarithmic axis: at least three of them wherever there is room between `low` and `high`.
    No two are closer than 8% of the axis, where their words would touch.

    >>> log_ticks(1, 2e4), log_ticks(0.6, 17), log_ticks(1.9, 2.4)
    ([1.0, 10.0, 100.0, 1000.0, 10000.0], [1.0, 2.0, 5.0, 10.0], [1.9, 2.0, 2.1, 2.2, 2.3, 2.4])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        found = [float(f"{digit}e{power}") for power in powers for digit in digits]
        found = [tick for tick in found if low <= tick * (1 + 1e-9) and tick * (1 - 1e-9) <= high]
        if len(found) >= 3:
            return found[:: -(-len(found) // most)]
    closest = (high / low) ** 0.08
    each = (round_ticks(high, count, low) for count in range(8, 0, -1))
    return next(found for found in each if len(found) < 2 or found[-1] >= found[-2] * closest)


def _decimal(count: float, unit: str) -> str:
    scale, prefix = _prefix(count)
    return f"{_three(count / scale)} {prefix}{unit}"


def _prefix(count: float) -> tuple[float, str]:
    """The largest of 1, k, M, G and T that a number reaches, written with three digits."""
    for scale, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(count) >= 0.9995 * scale:
            return scale, prefix
    return 1.0, ""


def _three(number: float) -> str:
    """Three significant digits, without an exponent below a million."""
    return f"{number:.0f}" if 999.5 <= abs(number) < 1e6 else f"{number:.3g}"
