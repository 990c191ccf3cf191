"""What could start at one moment starts in the same order, and at the same times, in the simulator and on slowed links.

Both are given the same program: simulated, it runs; for slowed links, the parent's side is told what the ranks would
post, as their clocks would say. No process and no real clock takes part.
"""

import itertools
import math
from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import Network, simulate
from course_lib.comm.transport.emulated import EmulatedNetwork, Post

LATENCY_S = 1.0
NETWORK = Network(latency_s=LATENCY_S, bytes_per_s=1.0)


class Rank:
    """A rank on slowed links: it goes through a list of ("send" or "recv", peer, bytes), ("wait",), ("compute", s)."""

    def __init__(self, rank, program, links, delays_s):
        self.rank, self.steps, self.links, self.delays_s = rank, program, links, delays_s
        self.clock_s, self.posted, self.ends, self.next = 0.0, 0, {}, 0

    def go_on(self) -> bool:
        """Take the next step if it can be taken."""
        if self.next == len(self.steps):
            return False
        kind, *what = self.steps[self.next]
        if kind == "compute":
            self.clock_s += what[0]
        elif kind == "wait":
            if len(self.ends) < self.posted:
                return False
            self.clock_s = max([self.clock_s, *self.ends.values()])
        else:
            self.clock_s += next(self.delays_s)
            peer, message_bytes = what
            payload = "torch.uint8", (message_bytes,), message_bytes
            number, at_s = self.posted, self.clock_s
            post = Post(self.rank, peer, payload, ("program", 1), None, kind, number, at_s, 0, (), False)
            self.posted += 1
            self.links.handle(self.rank, post)
        self.next += 1
        return True


def emulated(world_size, programs, random, max_s=0.0) -> list[tuple]:
    """(src, dst, start, end) of every message, posted by ranks that take turns as chance has it.

    Between two posts a rank's own instructions take up to `max_s`.
    """
    delays_s = (random.uniform(0.0, max_s) for _ in itertools.count())
    links = EmulatedNetwork(
        world_size, NETWORK, lambda rank, start: ranks[rank].ends.update({start.number: start.end_s})
    )
    ranks = [Rank(rank, programs[rank], links, delays_s) for rank in range(world_size)]
    clock_s = 0.0
    while True:
        waiting = list(ranks)
        while waiting:
            rank = random.choice(waiting)
            if rank.clock_s > clock_s or not rank.go_on():
                waiting.remove(rank)
        later = [rank.clock_s for rank in ranks if rank.clock_s > clock_s and rank.next < len(rank.steps)]
        clock_s = min([links.next_s, *later])
        if clock_s == math.inf:
            return [(m.src, m.dst, m.start_s, m.end_s) for m in links.wire.messages]
        links.advance_to(clock_s)


def simulated(world_size, programs) -> list[tuple]:
    def program(comm):
        works = []
        for kind, *what in programs[comm.rank]:
            if kind == "compute":
                comm.compute(what[0])
            elif kind == "wait":
                for work in works:
                    work.wait()
            else:
                tensor = torch.empty(what[1], dtype=torch.uint8, device="meta")
                works.append((comm.isend if kind == "send" else comm.irecv)(tensor, what[0]))

    report = simulate(program, world_size, network=NETWORK, ranks="greenlets")
    return [(m.src, m.dst, m.start_s, m.end_s) for m in report.trace.messages]


@st.composite
def programs(draw):
    """Rounds in which some ranks send to some others, each in its own order; in between ranks wait or compute."""
    world_size = draw(st.integers(2, 5))
    steps = [[] for _ in range(world_size)]
    for _ in range(draw(st.integers(1, 4))):
        for rank in range(world_size):
            if draw(st.booleans()):
                steps[rank].append(("compute", float(draw(st.integers(1, 3)))))
        pairs = [(src, dst) for src in range(world_size) for dst in range(world_size) if src != dst]
        chosen = draw(st.lists(st.sampled_from(pairs), max_size=8))
        posts = [("send", src, dst, draw(st.integers(0, 3))) for src, dst in chosen]
        posts += [("recv", dst, src, size) for _, src, dst, size in posts]
        order = draw(st.permutations([k for k in range(len(posts)) if k < len(chosen)]))
        for k in order:
            _, src, dst, size = posts[k]
            steps[src].append(("send", dst, size))
            steps[dst].append(("recv", src, size))
        for rank in range(world_size):
            steps[rank].append(("wait",))
    return world_size, steps


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers(0, 9999))
def test_simulator_and_slowed_links_give_the_same_messages_at_the_same_times(program, seed):
    assert emulated(*program, Random(seed)) == simulated(*program)


@pytest.mark.parametrize("world_size", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("turned", [True, False])
def test_posts_that_lie_close_together_are_one_moment(turned, world_size):
    steps = []
    for rank in range(world_size):
        others = [(rank + k) % world_size for k in range(1, world_size)]
        others = others if turned else sorted(others)
        steps.append([(kind, other, 5) for other in others for kind in ("recv", "send")] + [("wait",)])
    exact = simulated(world_size, steps)
    for seed in range(5):
        blurred = emulated(world_size, steps, Random(seed), max_s=1e-3)
        assert [m[:2] for m in blurred] == [m[:2] for m in exact]
        assert [m[2] for m in blurred] == pytest.approx([m[2] for m in exact], abs=0.1)
    assert not turned or exact[-1][-1] == (world_size - 1) * (LATENCY_S + 5)


@pytest.mark.parametrize(("send_s", "recv_s"), [(0.0, 0.05), (0.05, 0.0)])
def test_no_message_starts_before_both_its_sides_are_posted_in_one_moment_either(send_s, recv_s):
    links = EmulatedNetwork(2, NETWORK, lambda rank, start: None)
    for rank, kind, at_s in ((0, "send", send_s), (1, "recv", recv_s)):
        payload = "torch.uint8", (5,), 5
        links.handle(rank, Post(rank, 1 - rank, payload, ("program", 1), None, kind, 0, at_s, 0, (), False))
    links.advance_to(1.0)
    assert [message.start_s for message in links.wire.messages] == [0.05]


@pytest.mark.parametrize("order", [(3, 2, 1), (2, 3, 1), (1, 2, 3)])
def test_messages_leave_a_rank_in_the_order_of_its_isends(order):
    def program(comm):
        tensor = torch.zeros(1)
        if comm.rank:
            comm.recv(tensor, 0)
        else:
            for work in [comm.isend(tensor, dst) for dst in order]:
                work.wait()
        return comm.now()

    ends_s = simulate(program, 4, network=Network(latency_s=1.0)).results
    assert [ends_s[dst] for dst in order] == [1.0, 2.0, 3.0]
