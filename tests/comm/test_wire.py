"""When messages start: cases drawn by hand, then the rule itself against a slow and obvious model of it."""

import itertools
from textwrap import dedent
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import Link, MismatchError, Network, simulate
from course_lib.comm.wire import Wire, WireOperation


def operation(rank, peer, message_bytes=0, shape=(), dtype="float32", where="") -> WireOperation:
    return WireOperation(rank, peer, SimpleNamespace(dtype=dtype, shape=shape, nbytes=message_bytes), where)


def one_number() -> torch.Tensor:
    return torch.zeros(1)


def play(world_size: int, network: Network, posts: list[tuple]) -> Wire:
    """Post (time, "send" or "recv", rank, peer, bytes) in order of time, and let all messages end."""
    wire, now_s = Wire(world_size, network), 0.0
    for at_s, kind, rank, peer, message_bytes in posts:
        while at_s > now_s and wire.next_end_s is not None and wire.next_end_s <= at_s:
            wire.advance()
        now_s = at_s
        (wire.send if kind == "send" else wire.recv)(operation(rank, peer, message_bytes), float(at_s))
    while wire.next_end_s is not None:
        wire.advance()
    return wire


def draw(wire: Wire) -> str:
    """One line for each message in order of start: a dot for a second before it, a # for a second on the wire."""
    lines = [f"{m.src}>{m.dst} {'.' * int(m.start_s)}{'#' * int(m.end_s - m.start_s)}" for m in wire.messages]
    return "\n".join(lines)


def drawn(text: str) -> str:
    return dedent(text).strip()


THREE_SECONDS = Network(latency_s=3.0)


def test_a_message_starts_when_its_second_side_is_posted():
    assert draw(play(2, THREE_SECONDS, [(0, "send", 0, 1, 0), (2, "recv", 1, 0, 0)])) == "0>1 ..###"
    assert draw(play(2, THREE_SECONDS, [(1, "recv", 1, 0, 0), (4, "send", 0, 1, 0)])) == "0>1 ....###"


def test_both_directions_of_a_pair_are_used_at_once():
    posts = [(0, kind, rank, 1 - rank, 0) for rank in (0, 1) for kind in ("send", "recv")]
    assert draw(play(2, THREE_SECONDS, posts)) == drawn(
        """
        0>1 ###
        1>0 ###
        """
    )


def test_a_receiving_port_takes_one_message_at_a_time_the_first_matched_first():
    posts = [(0, "send", 0, 2, 0), (0, "send", 1, 2, 0), (1, "recv", 2, 1, 0), (2, "recv", 2, 0, 0)]
    assert draw(play(3, THREE_SECONDS, posts)) == drawn(
        """
        1>2 .###
        0>2 ....###
        """
    )


def test_a_sending_port_sends_one_message_at_a_time():
    posts = [(0, "send", 0, 1, 0), (0, "send", 0, 2, 0), (0, "recv", 2, 0, 0), (1, "recv", 1, 0, 0)]
    assert draw(play(3, THREE_SECONDS, posts)) == drawn(
        """
        0>2 ###
        0>1 ...###
        """
    )


def test_a_message_that_waits_for_one_port_does_not_hold_its_other_one():
    # 1>2 waits for the receiving port of 2, so the sending port of 1 is free for 1>3.
    posts = [(0, "recv", 2, 0, 0), (0, "send", 0, 2, 0), (0, "recv", 2, 1, 0), (0, "send", 1, 2, 0)]
    posts += [(1, "recv", 3, 1, 0), (1, "send", 1, 3, 0)]
    assert draw(play(4, THREE_SECONDS, posts)) == drawn(
        """
        0>2 ###
        1>3 .###
        1>2 ....###
        """
    )


def test_of_many_that_wait_for_a_port_the_first_matched_goes_first():
    posts = [(0, "send", rank, 0, 0) for rank in (1, 2, 3)]
    posts += [(at_s, "recv", 0, rank, 0) for at_s, rank in enumerate((3, 1, 2))]
    assert draw(play(4, THREE_SECONDS, posts)) == drawn(
        """
        3>0 ###
        1>0 ...###
        2>0 ......###
        """
    )


def test_of_those_matched_at_one_moment_the_one_sent_first_goes_first():
    posts = [(0, "send", 0, peer, 0) for peer in (3, 1, 2)] + [(0, "recv", rank, 0, 0) for rank in (1, 2, 3)]
    assert draw(play(4, THREE_SECONDS, posts)) == drawn(
        """
        0>3 ###
        0>1 ...###
        0>2 ......###
        """
    )


def test_of_sends_at_one_moment_that_of_the_lower_rank_goes_first_whoever_was_asked_first():
    posts = [(0, "recv", 0, rank, 0) for rank in (3, 1, 2)] + [(0, "send", rank, 0, 0) for rank in (2, 3, 1)]
    assert draw(play(4, THREE_SECONDS, posts)) == drawn(
        """
        1>0 ###
        2>0 ...###
        3>0 ......###
        """
    )


def test_messages_of_one_pair_never_overtake_each_other():
    network = Network(bytes_per_s=1.0)
    posts = [(0, "send", 0, 1, 5), (0, "send", 0, 1, 1), (0, "recv", 1, 0, 5), (0, "recv", 1, 0, 1)]
    wire = play(2, network, posts)
    assert [m.message_bytes for m in wire.messages] == [5, 1]
    assert draw(wire) == drawn(
        """
        0>1 #####
        0>1 .....#
        """
    )


def test_a_receive_from_anyone_takes_the_send_that_was_posted_first():
    posts = [(0, "send", 2, 0, 0), (1, "send", 1, 0, 0), (5, "recv", 0, None, 0), (5, "recv", 0, None, 0)]
    assert draw(play(3, THREE_SECONDS, posts)) == drawn(
        """
        2>0 .....###
        1>0 ........###
        """
    )


def test_a_send_goes_to_the_receive_that_was_posted_first_named_or_not():
    for first, second in ((None, 1), (1, None)):
        wire = Wire(2, THREE_SECONDS)
        earlier, later = operation(0, first), operation(0, second)
        wire.recv(earlier, 0.0)
        wire.recv(later, 0.0)
        wire.send(operation(1, 0), 1.0)
        assert wire.next_end_s == 4.0
        wire.advance()
        assert (earlier.done, later.done) == (True, False)


def test_a_receive_from_somebody_leaves_the_messages_of_others_alone():
    posts = [(0, "send", 2, 0, 0), (0, "recv", 0, 1, 0), (4, "send", 1, 0, 0)]
    wire = play(3, THREE_SECONDS, posts)
    assert draw(wire) == "1>0 ....###"
    assert [(kind, op.rank) for kind, op in wire.unmatched()] == [("send", 2)]


NODES_OF_TWO = Network(latency_s=1.0, ranks_per_node=2, outside=Link(latency_s=3.0, bytes_per_s=1.0))


def test_messages_of_one_node_to_the_outside_share_its_port():
    # Node A has ranks 0 and 1, node B ranks 2 and 3. Each pair of ranks has ports of its own; the nodes' are shared.
    posts = [(0, "send", 0, 2, 0), (0, "recv", 2, 0, 0), (0, "send", 1, 3, 0), (0, "recv", 3, 1, 0)]
    assert draw(play(4, NODES_OF_TWO, posts)) == drawn(
        """
        0>2 ###
        1>3 ...###
        """
    )


def test_messages_into_one_node_share_its_incoming_port():
    posts = [(0, "send", 0, 4, 0), (0, "recv", 4, 0, 0), (0, "send", 2, 5, 0), (0, "recv", 5, 2, 0)]
    assert draw(play(6, NODES_OF_TWO, posts)) == drawn(
        """
        0>4 ###
        2>5 ...###
        """
    )


def test_inside_nodes_nothing_is_shared_and_both_directions_between_nodes_are_used_at_once():
    pairs = [(0, 1), (2, 3), (1, 2), (3, 0)]
    posts = [(0, "send", s, d, 0) for s, d in pairs] + [(0, "recv", d, s, 0) for s, d in pairs]
    assert draw(play(4, NODES_OF_TWO, posts)) == drawn(
        """
        0>1 #
        1>2 ###
        2>3 #
        3>0 ###
        """
    )


def test_siblings_share_ports_and_clock_and_match_only_their_own():
    wire = Wire(3, THREE_SECONDS)
    other = wire.sibling()
    wire.send(operation(0, 1), 0.0)
    other.recv(operation(1, 0), 0.0)
    assert wire.messages == []
    other.send(operation(0, 1), 0.0)
    wire.recv(operation(1, 0), 0.0)
    assert wire.next_end_s == 3.0  # the sibling's message waits: at one moment the program's own goes first
    assert [(m.start_s, m.end_s) for m in wire.messages] == [(0.0, 3.0)]
    assert other.next_end_s == 3.0
    wire.advance()
    assert [(m.start_s, m.end_s) for m in other.messages] == [(0.0, 3.0), (3.0, 6.0)]
    other.steps_seen[0] = 5
    assert wire.steps_seen == [0, 0, 0]


def test_what_is_posted_on_a_channel_meets_only_what_is_posted_on_it():
    wire = Wire(2, THREE_SECONDS)
    barrier = wire.channel("barrier")
    wire.recv(operation(1, None, 8), 0.0)
    barrier.send(operation(0, 1), 0.0)
    assert wire.messages == []
    assert [kind for kind, _ in wire.unmatched()] == ["recv", "send"]
    wire.send(operation(0, 1, 8), 1.0)
    assert wire.next_end_s == 4.0
    wire.channel("barrier").recv(operation(1, 0), 2.0)
    assert wire.next_end_s == 4.0  # both use the ports of 0 and 1
    assert [m.message_bytes for m in wire.messages] == [8]
    wire.advance()
    assert [m.message_bytes for m in wire.messages] == [8, 0]
    assert wire.unmatched() == []
    barrier.steps_seen[0] = 5
    assert wire.steps_seen == [5, 0]


def test_the_step_of_a_message_is_one_more_than_the_steps_its_ends_had_completed():
    def chain(comm):  # 0 -> 1 -> 2 -> 3, and beside it 3 -> 0, which depends on nothing
        side = comm.isend(one_number(), 0) if comm.rank == 3 else None
        received = comm.irecv(one_number(), 3) if comm.rank == 0 else None
        if comm.rank > 0:
            comm.recv(one_number(), comm.rank - 1)
        if comm.rank < 3:
            comm.send(one_number(), comm.rank + 1)
        for work in filter(None, (side, received)):
            work.wait()

    trace = simulate(chain, 4).trace
    assert {(m.src, m.dst): m.step for m in trace.messages} == {(0, 1): 1, (1, 2): 2, (2, 3): 3, (3, 0): 1}
    assert trace.steps == 3


def test_a_message_depends_on_what_its_receiver_had_completed_too():
    def program(comm):
        if comm.rank < 2:
            comm.send(one_number(), 2)
        else:
            comm.recv(one_number(), 1)
            comm.recv(one_number(), 0)

    assert {m.src: m.step for m in simulate(program, 3).trace.messages} == {1: 1, 0: 2}


def test_the_step_does_not_grow_before_the_rank_has_waited():
    def everyone_to_everyone(comm):
        others = [rank for rank in range(comm.world_size) if rank != comm.rank]
        works = [comm.irecv(one_number(), rank) for rank in others] + [comm.isend(one_number(), r) for r in others]
        for work in works:
            work.wait()

    assert simulate(everyone_to_everyone, 5).trace.steps == 1


@pytest.mark.parametrize("other", [{"shape": (3,)}, {"dtype": "int32"}])
def test_sides_of_another_shape_or_type_never_become_a_message(other):
    wire = Wire(2, Network())
    wire.send(operation(0, 1, shape=(2,), where="line of the send"), 0.0)
    with pytest.raises(MismatchError, match="line of the send"):
        wire.recv(operation(1, 0, **{"shape": (2,), **other}), 0.0)
    assert wire.messages == []


# The rule again, slow and obvious: at the end of every moment give sends to receives, go through all matched messages
# in the order of their matching, and start each whose ports are all free.


def starts_by_the_rule(world_size: int, network: Network, posts: list[tuple]) -> list[tuple]:
    """(src, dst, bytes, send posted, recv posted, start, end) of every message, in order of start."""
    sends: list[tuple] = []  # (time, src, number of the post, dst, bytes)
    recvs: list[tuple] = []  # (time, dst, src)
    matched: list[list] = []  # [src, dst, bytes, send posted, recv posted, start or None, end or None]
    started: list[list] = []

    def match(now_s):
        new = []
        for send in sorted(sends):
            send_s, src, _, dst, message_bytes = send
            found = next((recv for recv in recvs if recv[1] == dst and recv[2] in (src, None)), None)
            if found:
                sends.remove(send)
                recvs.remove(found)
                new.append((send, [src, dst, message_bytes, send_s, found[0], None, None]))
        matched.extend(message for _, message in sorted(new))
        start(now_s)

    def start(now_s):
        for message in matched:
            if message[5] is None:
                mine = set(network.ports(message[0], message[1], world_size))
                running = [m for m in started if m[6] > now_s]
                if all(mine.isdisjoint(network.ports(m[0], m[1], world_size)) for m in running):
                    message[5], message[6] = now_s, now_s + network.seconds(*message[:3])
                    started.append(message)

    now_s = 0.0
    for number, (at_s, kind, rank, peer, message_bytes) in enumerate([*posts, (float("inf"), "", 0, 0, 0)]):
        if at_s > now_s:
            match(now_s)
            while ends := [m[6] for m in started if now_s < m[6] <= at_s and m[6] < float("inf")]:
                now_s = min(ends)
                start(now_s)
            now_s = at_s
        if kind == "send":
            sends.append((at_s, rank, number, peer, message_bytes))
        elif kind == "recv":
            recvs.append((at_s, rank, peer))
    return [tuple(m) for m in started]


@st.composite
def networks(draw_one, world_size):
    ranks = st.integers(0, world_size - 1)
    factors = st.sampled_from([2.0, 4.0])
    nodes = draw_one(st.sampled_from([None, 1, 2, 3]))
    return Network(
        latency_s=float(draw_one(st.integers(1, 4))),
        bytes_per_s=1.0,
        ranks_per_node=nodes,
        outside=Link(float(draw_one(st.integers(1, 8))), 0.5) if nodes else None,
        stragglers=draw_one(st.dictionaries(ranks, factors, max_size=2)),
        slow_links=draw_one(st.dictionaries(st.tuples(ranks, ranks), factors, max_size=2)),
    )


@st.composite
def games(draw_one):
    world_size = draw_one(st.integers(2, 5))
    network = draw_one(networks(world_size))
    posts, now_s = [], 0.0
    for _ in range(draw_one(st.integers(0, 30))):
        now_s += draw_one(st.sampled_from([0.0, 0.0, 1.0, 3.0]))
        kind = draw_one(st.sampled_from(["send", "recv"]))
        rank = draw_one(st.integers(0, world_size - 1))
        peer = (rank + draw_one(st.integers(1, world_size - 1))) % world_size
        if kind == "recv" and draw_one(st.integers(0, 4)) == 0:
            peer = None
        posts.append((now_s, kind, rank, peer, draw_one(st.integers(0, 5))))
    return world_size, network, posts


def rows(wire: Wire) -> list[tuple]:
    return [
        (m.src, m.dst, m.message_bytes, m.send_posted_s, m.recv_posted_s, m.start_s, m.end_s) for m in wire.messages
    ]


@settings(max_examples=300)
@given(games())
def test_messages_start_exactly_when_the_rule_says(game):
    wire = play(*game)
    by_wire = rows(wire)
    assert sorted(by_wire) == sorted(starts_by_the_rule(*game))
    assert [m[5] for m in by_wire] == sorted(m[5] for m in by_wire)
    assert 2 * len(by_wire) + len(wire.unmatched()) == len(game[2])


@settings(max_examples=150)
@given(games(), st.randoms(use_true_random=False))
def test_it_does_not_matter_whose_posts_of_one_moment_come_first(game, random):
    world_size, network, posts = game
    mixed = []
    for _, moment in itertools.groupby(posts, key=lambda post: post[0]):
        by_rank = split_by_rank(list(moment))
        while by_rank := [posts_of_rank for posts_of_rank in by_rank if posts_of_rank]:
            mixed.append(random.choice(by_rank).pop(0))
    assert rows(play(world_size, network, mixed)) == rows(play(*game))


def split_by_rank(posts: list[tuple]) -> list[list[tuple]]:
    return [[post for post in posts if post[2] == rank] for rank in sorted({post[2] for post in posts})]


def test_a_wires_attributes_are_slots_for_a_copied_dict_is_slow():
    assert not hasattr(Wire(2, Network()), "__dict__")
    assert not hasattr(Wire(2, Network()).sibling(), "__dict__")
