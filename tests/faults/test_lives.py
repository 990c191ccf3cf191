"""Trainings that die anywhere, in one folder, with any number of ranks: laws, tried on random histories."""

import io
import os
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from course_lib import simulate
from course_lib.faults import Checkpoints, DamagedFileError, read_checked

FILE_CHANGES = ("open", "os.rename", "os.remove", "os.mkdir")


class KilledError(Exception):
    """Ends all ranks, as a machine that loses its power would."""


class Watch:
    """From the `fatal`-th change of a file in `folder` on, every one fails."""

    folder, fatal, seen = "", 0, 0

    def __call__(self, event: str, args: tuple) -> None:
        if not self.fatal or event not in FILE_CHANGES or not str(args[0]).startswith(self.folder):
            return
        if event == "open" and not args[2] & (os.O_WRONLY | os.O_RDWR):
            return
        self.seen += 1
        if self.seen >= self.fatal:
            raise KilledError


WATCH = Watch()
sys.addaudithook(WATCH)  # cannot be taken off, so it sleeps
ACKNOWLEDGED: dict[tuple[int, int, int], set[int]] = defaultdict(set)  # the ranks whose save has returned, this life


def live(comm, folder, keep, life, saves, delays):
    """One life: go on from where one can, then save at some steps further on, each rank at a moment of its own."""
    checkpoints = Checkpoints(folder, comm, keep)
    newest = checkpoints.newest()
    state = None if newest is None else checkpoints.load(newest)
    step = 0 if newest is None else newest
    for number, further in enumerate(saves):
        step = max(0, step + further)
        comm.compute(delays[(comm.rank + number) % len(delays)])
        checkpoints.save(step, {"place": (life, number, step), "rank": comm.rank, "ranks": comm.world_size})
        ACKNOWLEDGED[life, number, step].add(comm.rank)
        comm.barrier()
    return newest, state


class Lives(RuleBasedStateMachine):
    """A folder, and what must be in it: `known` are the checkpoints that were whole at some time, by their age."""

    @initialize(keep=st.integers(1, 3))
    def begin(self, keep):
        self.drawer = TemporaryDirectory()
        self.folder, self.keep = Path(self.drawer.name), keep
        self.lives, self.known = 0, set()

    def teardown(self):
        self.drawer.cleanup()

    def whole(self) -> set[tuple[int, int, int]]:
        """Who is whole, from what the files hold, whatever they are called."""
        parts, ranks = defaultdict(set), {}
        for path in self.folder.glob("*of-?"):
            try:
                state = torch.load(io.BytesIO(read_checked(path)), weights_only=True)
            except DamagedFileError:
                continue
            parts[state["place"]].add(state["rank"])
            ranks[state["place"]] = state["ranks"]
        return {place for place, found in parts.items() if len(found) == ranks[place]}

    @rule(
        ranks=st.integers(1, 4),
        saves=st.lists(st.integers(1, 3) | st.integers(-50, -1), max_size=5),
        delays=st.permutations([0.0, 1.0, 2.0, 3.0]),
        fatal=st.just(0) | st.integers(1, 40),
    )
    def a_life(self, ranks, saves, delays, fatal):
        newest = max(self.whole(), default=None)
        ACKNOWLEDGED.clear()
        WATCH.folder, WATCH.seen, WATCH.fatal = str(self.folder), 0, fatal
        try:
            results = simulate(live, ranks, (self.folder, self.keep, self.lives, saves, delays)).results
        except Exception as error:
            assert "KilledError" in str(error)  # noqa: PT017
            results = []
        finally:
            WATCH.fatal = 0
        self.lives += 1
        self.known |= {place for place, who in ACKNOWLEDGED.items() if len(who) == ranks}
        for step, state in results:  # all ranks went on from the newest that was whole
            assert (step, state and state["place"]) == (newest and newest[2], newest)
        self.known |= self.whole()

    @rule(data=st.data())
    def damage(self, data):
        paths = sorted(self.folder.iterdir())
        if not paths:
            return
        path = data.draw(st.sampled_from(paths[-4:]))  # the newest
        content = bytearray(path.read_bytes())
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
        path.write_bytes(content[: data.draw(st.sampled_from([None, -1, 20]))])
        self.known &= self.whole()

    @invariant()
    def nothing_is_lost(self):
        if hasattr(self, "known"):
            assert set(sorted(self.known)[-self.keep :]) <= self.whole()


Lives.TestCase.settings = settings(max_examples=10, stateful_step_count=6)
test_whatever_dies_or_breaks_the_newest_whole_one_is_found_and_the_last_ones_are_kept = Lives.TestCase


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
class TestManyLives(Lives.TestCase):
    """The same, longer."""

    settings = settings(max_examples=150, stateful_step_count=10)
