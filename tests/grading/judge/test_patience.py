"""Patience: only time in which nothing happens counts, however slow the machine."""

import pytest

from course_lib.grading.judge import trial
from course_lib.grading.judge.trial import CEILING, SLICE_S, Patience


class Machine:
    """A clock, a selector and ranks, whose slices are played one after the other: (seconds, events, seconds worked)."""

    def __init__(self, monkeypatch, slices):
        self.now_s, self.used_s, self.slices = 0.0, 0.0, iter(slices)
        monkeypatch.setattr(trial.time, "monotonic", lambda: self.now_s)

    def select(self, timeout_s):
        assert timeout_s == SLICE_S
        passed_s, events, worked_s = next(self.slices)
        self.now_s += passed_s
        self.used_s += worked_s
        return events


def _slices_until_exhausted(monkeypatch, slices, says=True):
    machine = Machine(monkeypatch, slices)
    judge = Patience(10 * SLICE_S, lambda: machine.used_s if says else None)
    count = 0
    while not judge.exhausted:
        judge.select(machine)
        count += 1
    return count


SILENT, SPEAKS, WORKS = (SLICE_S, [], 0.0), (SLICE_S, ["frame"], 0.0), (SLICE_S, [], 0.01)
PAUSED = 3600.0, [], 0.0  # a laptop that slept, a judge that was stopped


@pytest.mark.parametrize(
    ("slices", "count"),
    [
        ([SILENT] * 10, 10),
        ([SPEAKS] * 20 + [SILENT] * 10, 30),
        ([WORKS] * 20 + [SILENT] * 10, 30),
        ([PAUSED] + [SILENT] * 9, 10),
        ([PAUSED] * 3 + [WORKS] + [SILENT] * 7, 11),
        ([WORKS] * 1000, CEILING * 10),
    ],
)
def test_only_silence_without_work_counts_up_to_a_ceiling(monkeypatch, slices, count):
    assert _slices_until_exhausted(monkeypatch, slices) == count


def test_where_the_system_does_not_say_who_works_silence_counts(monkeypatch):
    assert _slices_until_exhausted(monkeypatch, [WORKS] * 10, says=False) == 10


def test_what_counts_is_idle_time_and_a_share_of_the_rest(monkeypatch):
    machine = Machine(monkeypatch, [SILENT] * 3 + [WORKS] * 3 + [SPEAKS] * 90)
    judge = Patience(1000.0, lambda: machine.used_s)
    for _ in range(6):
        judge.select(machine)
    assert judge.counted_s == 3 * SLICE_S
    for _ in range(90):
        judge.select(machine)
    assert judge.counted_s == 96 * SLICE_S / CEILING
