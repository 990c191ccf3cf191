"""Delivery over a wire that loses, doubles and reorders."""

import itertools
import math

import pytest

from course_lib.draw.chapters.faults import draw_crossings
from course_lib.faults.delivery import (
    KeepAll,
    KeepNext,
    KeepOrder,
    LossyWire,
    SelectiveRepeat,
    SendOnce,
    StopAndWait,
    deliver,
    transmissions_per_message,
)

SHARES = (0.0, 0.3, 0.8)
WIRES = [LossyWire(*shares, latency_s=1.0) for shares in itertools.product(SHARES, repeat=3)]
PAIRS = {
    "stop and wait": lambda messages, timeout_s: (StopAndWait(messages, timeout_s), KeepNext()),
    "window of 1": lambda messages, timeout_s: (SelectiveRepeat(messages, timeout_s, 1), KeepOrder()),
    "window of 5": lambda messages, timeout_s: (SelectiveRepeat(messages, timeout_s, 5), KeepOrder()),
}


def path(delivery):
    """Number, direction and times of each crossing."""
    return [(c.packet.number, c.forth, c.left_s, c.arrived_s) for c in delivery.crossings]


class Losing(LossyWire):
    """Loses exactly the packets whose turn it is."""

    def arrivals(self, left_s, draw):
        turns = self.__dict__.setdefault("turns", itertools.count())
        return [] if next(turns) in self.lost else [left_s + self.latency_s]


def losing(*lost: int) -> Losing:
    wire = Losing(latency_s=1.0)
    wire.__dict__["lost"] = lost
    return wire


def test_stop_and_wait_repeats_a_lost_message_and_a_lost_acknowledgment() -> None:
    delivery = deliver(StopAndWait("ab", timeout_s=3), KeepNext(), losing(0), losing(0))
    assert path(delivery) == [
        (0, True, 0, ()),  # lost
        (0, True, 3, (4,)),
        (0, False, 4, ()),  # its acknowledgment is lost
        (0, True, 6, (7,)),
        (0, False, 7, (8,)),  # had already, acknowledged again
        (1, True, 8, (9,)),
        (1, False, 9, (10,)),
    ]
    assert (delivery.delivered, delivery.delivered_s, delivery.seconds) == (["a", "b"], 9, 10)


def test_selective_repeat_repeats_only_what_is_missing() -> None:
    delivery = deliver(SelectiveRepeat("abcd", timeout_s=3, window=3), KeepOrder(), losing(1), losing())
    assert [(c.packet.number, c.left_s) for c in delivery.crossings if c.forth] == [
        (0, 0),
        (1, 0),
        (2, 0),
        (3, 2),
        (1, 3),
    ]
    assert (delivery.delivered, delivery.delivered_s) == (list("abcd"), 4)


def test_the_window_stands_still_at_its_oldest_message() -> None:
    delivery = deliver(SelectiveRepeat(range(9), timeout_s=50, window=3), KeepOrder(), losing(0), losing())
    assert max(c.packet.number for c in delivery.crossings if c.left_s < 50) == 2


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("timeout_s", [0.5, 2.5, 9.0])  # shorter than a round trip, just enough, ample
def test_each_message_is_delivered_exactly_once_and_in_order(pair: str, timeout_s: float) -> None:
    for wire, seed in itertools.product(WIRES, range(4)):
        delivery = deliver(*PAIRS[pair](range(12), timeout_s), wire, seed=seed)
        assert delivery.delivered == list(range(12)), (wire, seed)


@pytest.mark.parametrize("messages", [0, 1])
@pytest.mark.parametrize("pair", PAIRS)
def test_few_messages_end_too(pair: str, messages: int) -> None:
    delivery = deliver(*PAIRS[pair](range(messages), 3.0), LossyWire(lose=0.5), seed=3)
    assert delivery.delivered == list(range(messages))
    assert math.isfinite(delivery.seconds)


def test_equal_seeds_give_equal_deliveries() -> None:
    wire = LossyWire(0.3, 0.3, 0.3)
    first, again, other = (deliver(*PAIRS["window of 5"](range(9), 3.0), wire, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_without_a_protocol_messages_are_lost_doubled_and_out_of_order() -> None:
    wire = LossyWire(lose=0.2, double=0.2, delay=0.5)
    got = deliver(SendOnce(range(100)), KeepAll(), wire).delivered
    assert (set(got) < set(range(100)), len(got) > len(set(got)), got != sorted(got)) == (True, True, True)


def test_repeating_to_a_receiver_without_memory_delivers_at_least_once() -> None:
    got = deliver(StopAndWait(range(100), 3.0), KeepAll(), LossyWire(lose=0.3)).delivered
    assert set(got) == set(range(100))
    assert len(got) > 100


def alternating(wire: LossyWire, seed: int) -> bool:
    delivery = deliver(StopAndWait(range(30), 2.5, numbers=2), KeepNext(numbers=2), wire, seed=seed)
    return delivery.delivered == list(range(30))


def test_one_bit_is_number_enough_unless_packets_overtake_each_other() -> None:
    assert all(alternating(LossyWire(lose=0.3, double=0.3), seed) for seed in range(50))
    assert not all(alternating(LossyWire(lose=0.3, double=0.3, delay=0.3), seed) for seed in range(50))


@pytest.mark.parametrize("double", [0.0, 0.5])
@pytest.mark.parametrize("lose", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("pair", PAIRS)
def test_transmissions_and_time_are_what_the_formulas_say(pair: str, lose: float, double: float) -> None:
    messages, forth, back = 4000, LossyWire(lose, double, latency_s=0.5), LossyWire(lose / 2, latency_s=0.5)
    delivery = deliver(*PAIRS[pair](range(messages), 2.0), forth, back)
    expected = transmissions_per_message(forth, back)
    success = 1 / expected
    four_errors = 4 * math.sqrt((1 - success) / messages) / success  # of a mean of geometric counts
    assert delivery.transmissions / messages == pytest.approx(expected, abs=four_errors + 1e-12)
    if pair != "window of 5":
        expected_s = messages * (0.5 + 0.5 + (expected - 1) * 2.0)  # round trips, and time-outs
        assert delivery.seconds == pytest.approx(expected_s, abs=messages * 2.0 * four_errors + 1e-6)


def test_a_window_fills_the_wire_where_stop_and_wait_leaves_it_empty() -> None:
    wire = LossyWire(latency_s=1.0, send_s=0.1)
    one = deliver(StopAndWait(range(100), 9.0), KeepNext(), wire).seconds
    many = deliver(SelectiveRepeat(range(100), 9.0, window=22), KeepOrder(), wire).seconds
    assert one == pytest.approx(100 * 2.2)
    assert many == pytest.approx(100 * 0.1 + 2.1)


@pytest.mark.parametrize("shares", [{"lose": 1.0}, {"lose": -0.1}, {"double": 1.1}, {"delay": 2}, {"latency_s": -1}])
def test_wires_that_cannot_be_are_refused(shares: dict) -> None:
    with pytest.raises(ValueError, match="must be"):
        LossyWire(**shares)


def test_a_window_of_none_is_refused() -> None:
    with pytest.raises(ValueError, match="window must be at least 1, got 0"):
        SelectiveRepeat("ab", 1.0, window=0)


def test_the_picture_counts_what_was_repeated_and_what_was_lost() -> None:
    delivery = deliver(StopAndWait("ab", timeout_s=3), KeepNext(), losing(0), losing(0))
    alt = draw_crossings(delivery).alt
    assert "message: 2, message, again: 2, acknowledgment: 3, lost: 2. (simulated)" in alt
    with pytest.raises(ValueError, match="must be a packet"):
        draw_crossings(delivery, until_s=0)


@pytest.mark.parametrize("timeout_s", [0, -1.0, float("nan")])
def test_a_time_out_of_nothing_is_refused_for_it_would_repeat_for_ever(timeout_s):
    for sender in (lambda: StopAndWait("abc", timeout_s), lambda: SelectiveRepeat("abc", timeout_s, 2)):
        with pytest.raises(ValueError, match="timeout_s must be more than 0"):
            sender()


def test_a_time_out_that_moves_no_clock_is_refused_where_it_would_not():
    sender = StopAndWait("ab", 1e-20)
    sender.begin(0.0)
    with pytest.raises(ValueError, match="enough to move a clock at 1 s, got 1e-20"):
        sender.ring(1.0)


@pytest.mark.parametrize("time", [{"latency_s": float("inf")}, {"send_s": float("nan")}, {"latency_s": -1.0}])
def test_a_wire_without_an_end_is_refused(time):
    with pytest.raises(ValueError, match="must be 0 or more and finite"):
        LossyWire(**time)


@pytest.mark.parametrize("latency_s", [0.05, 20.0])
def test_a_lost_packet_is_drawn_as_fast_as_one_that_arrives(latency_s):
    wire = LossyWire(lose=0.5, latency_s=latency_s)
    delivery = deliver(StopAndWait(range(4), 3 * latency_s), KeepNext(), wire, seed=4)
    (axes,) = draw_crossings(delivery).figure.axes
    ends = sorted(line.get_xdata()[0] for line in axes.lines if line.get_marker() == "x")
    lost = [crossing.left_s for crossing in delivery.crossings if not crossing.arrived_s]
    assert ends == pytest.approx([left_s + latency_s / 2 for left_s in sorted(lost)])
    assert len(lost) > 3
