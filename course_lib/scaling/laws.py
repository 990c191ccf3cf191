"""Two laws about work of which a part cannot be shared."""

from __future__ import annotations

__all__ = ["amdahl", "gustafson"]


def amdahl(serial_share: float, ranks: int) -> float:
    """How many times faster `ranks` do the *same* work: 1 / (s + (1 - s) / p), never more than 1 / s.

    Args:
        serial_share: s, the share of one rank's time that does not get shorter.

    Raises:
        ValueError: unless 0 <= serial_share <= 1 and ranks is at least 1.

    Source: G. Amdahl, "Validity of the single processor approach to achieving large scale computing capabilities",
    AFIPS 1967.

    >>> amdahl(0.25, 3), amdahl(0.25, 1_000_000) < 4
    (2.0, True)
    """
    _check(serial_share, ranks)
    return 1 / (serial_share + (1 - serial_share) / ranks)


def gustafson(serial_share: float, ranks: int) -> float:
    """How many times faster `ranks` do work that *grows* with them: s + (1 - s) p.

    Args:
        serial_share: s, the share of the time on `ranks` in which the others do not help.

    Raises:
        ValueError: unless 0 <= serial_share <= 1 and ranks is at least 1.

    Source: J. Gustafson, "Reevaluating Amdahl's law", Communications of the ACM 31(5), 1988.

    >>> gustafson(0.25, 3), gustafson(0.25, 101)
    (2.5, 76.0)
    """
    _check(serial_share, ranks)
    return serial_share + (1 - serial_share) * ranks


def _check(serial_share: float, ranks: int) -> None:
    if not (0 <= serial_share <= 1 and ranks >= 1):
        raise ValueError(f"serial_share must be from 0 to 1 and ranks at least 1, got {serial_share} and {ranks}")
