"""What reliable delivery costs, as a formula."""

from __future__ import annotations

from course_lib.faults.delivery.wire import LossyWire

__all__ = ["transmissions_per_message"]


def transmissions_per_message(forth: LossyWire, back: LossyWire | None = None) -> float:
    """How often a message leaves on average, if time-outs are long enough: 1/((1 - p)(1 - q)) without doubling.

    A transmission is the last one if it and one of its acknowledgments arrive; if it is doubled there are two.
    Transmissions are independent, so their number has a geometric distribution.

    Source: D. Bertsekas and R. Gallager, "Data networks", 2nd edition, 1992, section 2.4.

    >>> transmissions_per_message(LossyWire(lose=0.5)), transmissions_per_message(LossyWire(lose=0.5, double=1))
    (4.0, 2.6666666666666665)
    """
    lost, no_answer = forth.lose, (back or forth).lose
    unanswered = (1 - forth.double) * no_answer + forth.double * no_answer**2
    return 1 / ((1 - lost) * (1 - unanswered))
