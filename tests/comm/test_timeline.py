"""The timeline's second lane, for functions that run beside a program."""

import torch

from course_lib import Network, simulate
from course_lib.collectives import ring_all_reduce
from course_lib.draw.timelines import LANES, LANES_WITH_STARTED, describe_timeline, draw_timeline, timeline_rows


def program(comm, beside: bool):
    work = comm.start(ring_all_reduce, torch.ones(2)) if beside else None
    comm.compute(0.25)
    if work is None:
        ring_all_reduce(comm, torch.ones(2))
    else:
        work.wait()


def trace_of(beside: bool):
    return simulate(program, 2, (beside,), network=Network(latency_s=0.5)).trace


def test_what_runs_beside_has_a_lane_below_that_of_the_program():
    row = timeline_rows(trace_of(True), [1])[1]
    lanes = {lane: [tuple(stretch[:3]) for stretch in stretches] for lane, stretches in row.items()}
    assert (lanes["work"], lanes["wait"]) == ([(0.0, 0.25, -1)], [(0.25, 1.0, -1)])
    assert lanes["started wait"] == [(0.0, 0.5, -1), (0.5, 1.0, -1)]
    assert lanes["send"] == [(0.0, 0.5, 0), (0.5, 1.0, 0)]
    program_end = sum(LANES_WITH_STARTED["work"][1:])
    below = ("started work", "started wait", "send", "receive")
    assert all(LANES_WITH_STARTED[lane][1] >= program_end for lane in below)


def test_without_it_a_timeline_has_the_lanes_it_always_had():
    assert set(timeline_rows(trace_of(False), [0])[0]) == set(LANES)
    assert "functions it started" not in describe_timeline(trace_of(False))


def test_picture_and_words_say_which_lane_is_which():
    assert "functions it started and all messages below" in describe_timeline(trace_of(True))
    assert "functions it started" in draw_timeline(trace_of(True), origin="simulated").alt
