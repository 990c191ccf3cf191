"""What an execution leaves behind: counts, waiting time, and the export to Chrome's format."""

import json
import pickle
import sys

import cloudpickle
import pytest
import torch

from course_lib import Message, Network, Span, Trace, run, simulate

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if these programs were written in a notebook


def message(src, dst, message_bytes, start_s=0.0, end_s=0.0, step=1) -> Message:
    return Message(src, dst, message_bytes, start_s, start_s, step, start_s, end_s)


# Three ranks: 0 sends 10 and 20 bytes to 1, 1 sends 5 to 2, 2 sends nothing.
SMALL = Trace(3, [message(0, 1, 10), message(0, 1, 20, step=2), message(1, 2, 5, step=3)])


def test_counts_by_link_and_by_rank():
    assert SMALL.link_bytes == [[0, 30, 0], [0, 0, 5], [0, 0, 0]]
    assert SMALL.link_messages == [[0, 2, 0], [0, 0, 1], [0, 0, 0]]
    assert (SMALL.bytes_sent, SMALL.bytes_received) == ([30, 5, 0], [0, 30, 5])
    assert (SMALL.messages_sent, SMALL.messages_received) == ([2, 1, 0], [0, 2, 1])
    assert (SMALL.total_bytes, SMALL.steps) == (35, 3)


@pytest.mark.parametrize("world_size", [1, 3])
def test_a_program_without_messages_has_zeros_for_every_rank(world_size):
    trace = simulate(lambda comm: None, world_size).trace
    zeros = [0] * world_size
    assert (trace.steps, trace.total_bytes, trace.seconds, trace.messages) == (0, 0, 0.0, [])
    assert trace.bytes_sent == trace.messages_received == trace.waiting_s == zeros
    assert trace.link_bytes == [zeros] * world_size


@pytest.mark.parametrize(
    ("blocked", "busy", "waiting_s"),
    [
        ([(0, 5)], [], 5),  # nothing comes
        ([(0, 5)], [(2, 5)], 2),  # waits 2 seconds for the other side, then the message takes 3
        ([(2, 5)], [(2, 5)], 0),  # the message alone keeps it busy
        ([(0, 10)], [(2, 5), (4, 6), (8, 12)], 4),  # 0 to 2 and 6 to 8
        ([(0, 2), (4, 6)], [(1, 5)], 2),  # 0 to 1 and 5 to 6
        ([(3, 4)], [(0, 2), (5, 6)], 1),  # between messages
        ([(0, 1), (1, 2), (2, 3)], [(0, 3)], 0),
        ([(4, 6), (0, 2)], [(5, 6), (0, 1)], 2),  # in any order
    ],
)
def test_waiting_is_being_blocked_while_no_own_message_is_on_the_wire(blocked, busy, waiting_s):
    messages = [message(0, 1, 1, start, end) for start, end in busy]
    trace = Trace(3, messages, waits=[(0, "recv", start, end) for start, end in blocked])
    assert trace.waiting_s == [waiting_s, 0, 0]


def test_a_receiver_waits_for_a_sender_that_computes_first():
    def program(comm):
        if comm.rank == 0:
            comm.compute(7.0, "think")
            comm.send(torch.zeros(4), 1)
        else:
            comm.recv(torch.zeros(4), 0)

    trace = simulate(program, 2, network=Network(latency_s=2.0)).trace
    assert trace.waiting_s == [0.0, 7.0]
    assert trace.spans == [Span(0, "think", 0.0, 7.0)]
    assert sorted(trace.waits) == [Span(0, "send", 7.0, 9.0), Span(1, "recv", 0.0, 9.0)]


def test_spans_say_what_a_rank_did_and_nest():
    def program(comm):
        with comm.span("outer"):
            comm.compute(1.0)
            with comm.span("inner"):
                comm.compute(2.0, "more")

    spans = [span[1:] for span in simulate(program, 1).trace.spans]
    assert spans == [("compute", 0.0, 1.0), ("more", 1.0, 3.0), ("inner", 1.0, 3.0), ("outer", 0.0, 3.0)]


def test_a_trace_survives_pickling():
    copy = pickle.loads(pickle.dumps(SMALL))
    assert copy.messages == SMALL.messages
    assert copy.link_bytes == SMALL.link_bytes


def ring(comm, elements):
    """Pass a tensor once round the ring; uses isend, recv, wait, a span and compute."""
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    for _ in range(comm.world_size - 1):
        with comm.span("step"):
            sending = comm.isend(torch.zeros(elements), right)
            comm.recv(torch.zeros(elements), left)
            sending.wait()
        comm.compute(1e-4, "add")


TRACES = {
    "simulated": lambda: simulate(ring, 4, (1000,), network=Network(latency_s=1e-3, bytes_per_s=1e6)).trace,
    "measured": lambda: run(ring, 4, (1000,)).trace,
    "simulated at no cost": lambda: simulate(ring, 3, (0,)).trace,
    "without messages": lambda: simulate(lambda comm: None, 2).trace,
    "one rank": lambda: simulate(lambda comm: comm.compute(1.0), 1).trace,
}


@pytest.mark.parametrize("name", TRACES)
def test_the_chrome_export_follows_the_rules_of_the_format(name, tmp_path):
    # Trace Event Format: every event has ph, pid, tid; complete events (X) have ts and dur in microseconds.
    trace = TRACES[name]()
    exported = trace.to_chrome(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text()) == exported
    json.dumps(exported, allow_nan=False)
    for event in exported["traceEvents"]:
        assert event["ph"] in "MXsf"
        assert isinstance(event["pid"], int)
        assert event["ph"] == "M" or isinstance(event["tid"], int)
        assert event["ph"] == "M" or event["ts"] >= 0
        assert event["ph"] != "X" or event["dur"] >= 0
        assert event["name"]
    slices = [e for e in exported["traceEvents"] if e["ph"] == "X"]
    assert len(slices) == 2 * len(trace.messages) + len(trace.spans) + len(trace.waits)


@pytest.mark.parametrize("name", ["simulated", "measured"])
def test_every_message_is_an_arrow_from_its_sending_to_its_receiving_slice(name):
    trace = TRACES[name]()
    events = trace.to_chrome()["traceEvents"]
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert starts.keys() == ends.keys() == set(range(len(trace.messages)))

    def slices_open_at(event):
        on_track = [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) == (event["pid"], event["tid"])]
        return [e["name"] for e in on_track if e["ts"] <= event["ts"] < e["ts"] + e["dur"]]

    for number, sent in enumerate(trace.messages):
        assert f"to {sent.dst}" in slices_open_at(starts[number])
        assert f"from {sent.src}" in slices_open_at(ends[number])
        assert (starts[number]["tid"], ends[number]["tid"]) == (sent.src, sent.dst)


def test_measured_counts_and_steps_equal_the_simulated_ones():
    measured, simulated = TRACES["measured"](), TRACES["simulated"]()
    assert measured.link_bytes == simulated.link_bytes
    assert measured.link_messages == simulated.link_messages
    assert measured.steps == simulated.steps == 3
    by_link = [sorted((m.src, m.dst, m.step, m.message_bytes) for m in t.messages) for t in (measured, simulated)]
    assert by_link[0] == by_link[1]
    assert len(measured.spans) == len(simulated.spans) == 4 * 3 * 2


@pytest.mark.parametrize(("src", "dst", "word"), [(0, 2, "dst"), (-1, 0, "src"), (5, 1, "src")])
def test_a_message_of_a_rank_that_is_not_there_is_refused_by_name(src, dst, word):
    with pytest.raises(ValueError, match=f"{word} must be a rank from 0 to 1 in this trace, got"):
        Trace(2, [message(src, dst, 4)])


def test_a_wait_of_a_rank_that_is_not_there_is_refused_by_name():
    with pytest.raises(ValueError, match="rank must be a rank from 0 to 1 in this trace, got 3"):
        Trace(2, [], waits=[(3, "recv", 0.0, 1.0)]).waiting_s  # noqa: B018
