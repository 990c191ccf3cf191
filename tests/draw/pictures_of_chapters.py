"""One of each picture of the chapters from 03 on, as full as its page has it."""

from types import SimpleNamespace

import torch

import course_lib.draw as draw
from course_lib import simulate
from course_lib.checkpointing import Node, best_segments, halving, revolve, segment_plan, store_segment
from course_lib.checkpointing.graphs import residual_shape, unet_shape
from course_lib.draw import Axis
from course_lib.faults.delivery import KeepOrder, LossyWire, SelectiveRepeat, deliver
from course_lib.faults.experiments import KilledTraining, Life
from course_lib.mesh import Mesh
from course_lib.model_parallel import RowKernel
from course_lib.pipeline import SCHEDULES, OperationTimes, interleaved, one_forward_one_backward, pipeline_timeline
from course_lib.precision import FP16, Roofline, exponent_counts
from course_lib.tensor_parallel import CUTS, CutStep

TIMES = OperationTimes(1, 1, 1)


def _history(loss: list[float]) -> SimpleNamespace:
    return SimpleNamespace(time_s=[0.0, 1.0], updates=[0, 5], loss=loss, staleness=[0, 1, 1, 2])


def _of_the_server() -> dict[str, draw.Picture]:
    def program(comm):
        comm.compute(1.0, "gradient")
        comm.barrier()

    policies = ("synchronous, 1 backup", "stale-synchronous, slack 2", "asynchronous")
    traces = {name: SimpleNamespace(trace=simulate(program, 5).trace, busy_share=0.25) for name in policies}
    facts = {"name": "ring all-reduce", "seconds_per_round": 0.4, "busiest_bytes": 4e4, "staleness": 6.9, "loss": 0.3}
    corners = [
        SimpleNamespace(place=place, time=time, **facts)
        for place in ("centralized", "decentralized")
        for time in ("synchronous", "asynchronous")
    ]
    return {
        "draw_beginnings": draw.draw_beginnings(traces, until_s=1, slow=1),
        "draw_times_to_loss": draw.draw_times_to_loss({"synchronous": (11.7, 0), "slack 2": (6.5, 30)}, goal=4.5),
        "draw_corners": draw.draw_corners([(corner, corner) for corner in corners]),
    }


def _of_memory_and_bits() -> dict[str, draw.Picture]:
    chain = {0: Node()} | {node: Node((node - 1,), (node - 1,)) for node in range(1, 17)}
    plans = {"keep everything": store_segment(0, 16), "segments": segment_plan(best_segments(16))}
    plans |= {"halving": halving(0, 16), "Revolve": revolve(16, 3)}
    points = {"halving": [(3.0, 2.5)], "segments": [(8.0, 1.5), (6.0, 2.0)], "optimum": [(3.0, 2.0), (6.0, 1.0)]}
    gradients = {
        name: exponent_counts(torch.randn(1000, generator=torch.Generator().manual_seed(0)) ** k)
        for name, k in (("a network for digits", 9), ("a GPT", 21))
    }
    return {
        "draw_formats": draw.draw_formats(),
        "draw_forms": draw.draw_forms({"thin": [(496, 0.46), (2976, 0.97)], "train": [(360, 0.96)]}, goal=0.96),
        "draw_frontier": draw.draw_frontier(points, show="{:g} kB".format, title="Every strategy"),
        "draw_gradients": draw.draw_gradients(gradients, FP16),
        "draw_graphs": draw.draw_graphs({"blocks": residual_shape(2), "U-Net": unet_shape(3)}, {"bottom": ["bottom"]}),
        "draw_plans": draw.draw_plans(plans, chain, budget_bytes=6, note="Revolve comes next"),
        "draw_roofline": draw.draw_roofline(Roofline(100e9, 20e9), {"add": (0.1, 1e9), "product": (100, 90e9)}),
        "draw_steps_needed": draw.draw_steps_needed({"fp16": 347, "+ scale": 156, ".half()": None}, goal=156, most=450),
    }


def chapter_pictures() -> dict[str, draw.Picture]:
    """By the name of the function that draws it."""
    timelines = {name: pipeline_timeline(make(4, 4), TIMES) for name, make in list(SCHEDULES.items())[:2]}
    timelines["interleaved, 2 stages a rank"] = pipeline_timeline(interleaved(4, 4), TIMES)
    halves = {"half": ([1, 2, 4], [0.5, 1, 2]), "a third": ([1, 2, 4], [0.3, 0.6, 1.2], "measured")}
    lives = [Life(0, 10, 13, False), Life(10, 10, 11, True), Life(10, 40, 40, False)]
    delivery = deliver(SelectiveRepeat(range(6), 3.0, 3), KeepOrder(), LossyWire(lose=0.3, latency_s=1.0), seed=1)
    return {
        "draw_a100_sweep": draw.draw_a100_sweep(),
        "draw_crossings": draw.draw_crossings(delivery),
        "draw_failure_costs": draw.draw_failure_costs({"often": {"notice": 1.0, "saves": 2.5}}, 186.0),
        "draw_halos": draw.draw_halos(height=8, kernel=RowKernel(size=3, stride=2, padding=1), world_size=2),
        "draw_linear_splits": draw.draw_linear_splits(ranks=3),
        "draw_sent": draw.draw_sent(
            {"all by examples": 427e6, "fc6 by outputs": 258e6, "all": 119e6}, goal_bytes=142e6
        ),
        "draw_idle_shares": draw.draw_idle_shares({"all forward first": (0.226, 24), "1F1B": (0.243, 8)}),
        "draw_lines": draw.draw_lines(halves, Axis("ranks"), Axis("speed-up"), marks={"border": 3}),
        "draw_lives": draw.draw_lives(KilledTraining(lives, 0, [])),
        "draw_mesh": draw.draw_mesh(Mesh(2, 3, 2), ranks_per_node=4),
        "draw_cuts": draw.draw_cuts({cut: CutStep(cut=cut).held_bytes for cut in CUTS}, 32e9, title="Six cuts"),
        "draw_parallel_mlp": draw.draw_parallel_mlp(ranks=3),
        "draw_plans_by_parts": draw.draw_plans_by_parts(
            {"often": {"a": 1.0, "b": 2.5}, "seldom": {"a": 2.0}}, "days", title="Two plans"
        ),
        "draw_schedule": draw.draw_schedule(pipeline_timeline(one_forward_one_backward(4, 8), TIMES), in_units=True),
        "draw_schedules": draw.draw_schedules(timelines, in_units=True, title="Four micro-batches"),
        "draw_busy_gpus": draw.draw_busy_gpus(
            {"one reader": 0.24, "16 machines, shards dealt whole": 0, "a queue of 32": 7.4, "all": 8.0}
        ),
        "draw_plan_times": draw.draw_plan_times({"central": 0.993, "ring, 161 all-reduces": 0.131, "ring": 0.032}),
        "draw_speedups": draw.draw_speedups({"fp32": 0.61, "1 bit, to all": 2.3, "outer step every 500": 15.0}),
        **_of_the_server(),
        **_of_memory_and_bits(),
    }
