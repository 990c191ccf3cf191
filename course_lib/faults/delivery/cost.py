"""What reliable delivery costs, as formulas."""

from __future__ import annotations

from course_lib.faults.delivery.wire import LossyWire

__all__ = ["stop_and_wait_seconds", "transmissions_per_message"]


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


def stop_and_wait_seconds(messages: int, timeout_s: float, forth: LossyWire, back: LossyWire | None = None) -> float:
    """The mean time of stop-and-wait on a wire that delays nothing: a round trip a message, a time-out a repetition.

    >>> stop_and_wait_seconds(10, 3.0, LossyWire(lose=0.5, latency_s=1.0))  # 10 round trips of 2 s, 30 repetitions
    110.0
    """
    back = back or forth
    round_trip_s = forth.send_s + forth.latency_s + back.send_s + back.latency_s
    return messages * (round_trip_s + (transmissions_per_message(forth, back) - 1) * timeout_s)
