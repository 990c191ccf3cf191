"""Twice as much takes about twice as long: steps are counted, at n and at 2n, and no clock is asked."""

from collections import UserDict

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib import Message, Network, Trace, simulate
from course_lib.comm import trace
from course_lib.comm.errors import find_cycle
from course_lib.comm.wire import Wire, WireOperation


class Seconds(float):
    """A number of seconds that counts how often two of them are compared."""

    compared = 0

    def _count(self, answer: bool) -> bool:
        Seconds.compared += 1
        return answer

    def __lt__(self, other):
        return self._count(float(self) < float(other))

    def __gt__(self, other):
        return self._count(float(self) > float(other))

    def __eq__(self, other):
        return self._count(float(self) == float(other))

    def __mul__(self, factor):
        return Seconds(float(self) * factor)

    def __radd__(self, other):
        return Seconds(float(self) + float(other))

    __hash__ = float.__hash__


class Looked(UserDict):
    """A dictionary that counts how often somebody looks into it."""

    looks = 0

    def __getitem__(self, key):
        self.looks += 1
        return super().__getitem__(key)


class Walked(list):
    """A list that counts how many of its entries are taken out."""

    taken = 0

    def __getitem__(self, index):
        found = super().__getitem__(index)
        Walked.taken += len(found) if isinstance(index, slice) else 1
        return found


def compared(what) -> int:
    Seconds.compared = 0
    what()
    return Seconds.compared


def looks_along_a_chain(ranks: int) -> int:
    """Rank r waits for r + 1, and the last has finished."""
    waits_for = Looked({rank: rank + 1 for rank in range(ranks)})
    assert find_cycle(waits_for) == []
    return waits_for.looks


def stretches_walked(messages: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """A receiver waits a second before each message, which then takes one."""
    union = trace._union
    monkeypatch.setattr(trace, "_union", lambda stretches: Walked(union(stretches)))
    Walked.taken = 0
    sent = [Message(0, 1, 1, 2.0 * k + 1, 2.0 * k, k, 2.0 * k + 1, 2.0 * k + 2) for k in range(messages)]
    waits = [(1, "recv", 2.0 * k, 2.0 * k + 2) for k in range(messages)]
    assert Trace(2, sent, waits=waits).waiting_s == [0.0, float(messages)]
    monkeypatch.undo()
    return Walked.taken


def comparisons_of_sleepers(ranks: int) -> int:
    def program(comm):
        for turn in range(4):
            comm.compute(Seconds(1 + 0.001 * comm.rank + 0.01 * turn))

    return compared(lambda: simulate(program, ranks, ranks="greenlets"))


def comparisons_of_a_server(workers: int) -> int:
    wire, empty = Wire(workers + 1, Network()), torch.empty(0)

    def serve():
        for worker in range(workers, 0, -1):
            wire.send(WireOperation(worker, 0, empty), Seconds(worker))
        for _ in range(workers):
            wire.recv(WireOperation(0, None, empty), 1e6)
            assert wire.next_end_s is not None

    return compared(serve)


@pytest.mark.parametrize("count", [comparisons_of_sleepers, comparisons_of_a_server, looks_along_a_chain])
def test_twice_the_ranks_take_little_more_than_twice_the_steps(count):
    assert 0 < count(256) < 2.6 * count(128)


def test_twice_the_messages_take_twice_the_steps_of_waiting(monkeypatch):
    assert 0 < stretches_walked(1000, monkeypatch) < 2.1 * stretches_walked(500, monkeypatch)


@given(st.dictionaries(st.integers(0, 8), st.none() | st.integers(0, 8), max_size=8))
def test_the_circle_found_is_the_one_that_every_start_would_lead_to(waits_for):
    def from_each_start():
        for start in sorted(waits_for):
            path, rank = [], start
            while rank in waits_for and rank not in path:
                path.append(rank)
                rank = waits_for[rank]
            if rank in path:
                return [*path[path.index(rank) :], rank]
        return []

    assert find_cycle(waits_for) == from_each_start()


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9))), st.lists(st.integers(1, 5)))
def test_waiting_is_what_a_walk_through_every_second_counts(busy, gaps):
    blocked, now_s = [], 0
    for gap in gaps:
        blocked.append((now_s + gap, now_s + 2 * gap))
        now_s += 2 * gap
    sent = [Message(0, 1, 1, 0.0, 0.0, 1, float(start), float(start + length)) for start, length in busy]
    waits = [(0, "wait", float(start), float(end)) for start, end in blocked]
    busy_s = {second for start, length in busy for second in range(start, start + length)}
    waited = [second for start, end in blocked for second in range(start, end) if second not in busy_s]
    assert Trace(2, sent, waits=waits).waiting_s[0] == len(waited)
