"""One of each picture, as full as its page has it."""

from types import SimpleNamespace

import torch

import course_lib.draw as draw
from course_lib import Network, simulate
from course_lib.checkpointing import Node, best_segments, halving, revolve, segment_plan, store_segment
from course_lib.checkpointing.graphs import residual_shape, unet_shape
from course_lib.collectives import ALL_REDUCES, ring_all_reduce, tree_all_reduce
from course_lib.data_parallel import LayerCost, step_timeline
from course_lib.draw import Axis, style
from course_lib.draw.chapters.collectives.times import draw_three_scales
from course_lib.faults.delivery import KeepOrder, LossyWire, SelectiveRepeat, deliver
from course_lib.faults.experiments import KilledTraining, Life
from course_lib.mesh import Mesh
from course_lib.model_parallel import RowKernel
from course_lib.parameter_server.experiments.fault_records import Event
from course_lib.pipeline import SCHEDULES, OperationTimes, interleaved, one_forward_one_backward, pipeline_timeline
from course_lib.precision import FP16, Roofline, exponent_counts
from course_lib.tensor_parallel import CUTS, CutStep
from course_lib.widgets import AllReduceExplorer, ServerExplorer, StepExplorer

NETWORK = Network(latency_s=1e-3, bytes_per_s=1e6)


TIMES = OperationTimes(1, 1, 1)
TRAINED = SimpleNamespace(time_s=[0.0, 1.0], updates=[0, 5], loss=[2.3, 1.1], staleness=[0, 1, 1, 2])
STEP = step_timeline([LayerCost(4000, 0.01, 0.02)] * 3, network=NETWORK, world_size=2, bucket_bytes=4000)
EVENTS = [Event(0.1, "server 0", "back"), Event(0.2, "server 0", "kill"), Event(0.3, "server 0", "back")]
GOALS = [
    SimpleNamespace(batch_size=4, updates=30, examples=120),
    SimpleNamespace(batch_size=32, updates=12, examples=384),
]
FAULTS = SimpleNamespace(events=EVENTS, seconds=1.0, kills=1, lost=0, origin="measured")


def simulated(program, world_size=4, message_bytes=4000, network=NETWORK):
    return simulate(program, world_size, args=(torch.empty(message_bytes // 4, device="meta"),), network=network)


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


def every_picture():
    """One of each figure, by name."""
    ring, story = simulated(ring_all_reduce), draw.replay(ring_all_reduce, 4)
    curves = [draw.Curve("ring", [1024, 4096], [1e-3, 2e-3], origin) for origin in style.ORIGINS[:5]]
    winners = draw.winner_map({"ring": lambda b, p: b, "tree": lambda b, p: 2048.0}, [1024, 4096], [2, 4])
    return {
        "draw_alpha_beta_fit": draw.draw_alpha_beta_fit([1024, 4096, 2**20], [1e-4, 1.1e-4, 5e-3], 1e-4, 2e8),
        "draw_bars": draw.draw_bars({"ring": 1e-3, "tree": 2e-3}, "seconds", origin="computed"),
        "draw_bytes_per_rank": draw.draw_bytes_per_rank({"ring": ring, "tree": simulated(tree_all_reduce)}),
        "draw_chunk_steps": draw.draw_chunk_steps(story),
        "draw_collectives": draw.draw_collectives(),
        "draw_link_heatmap": draw.draw_link_heatmap(ring),
        "draw_machines": draw.draw_machines(),
        "draw_memory_bars": draw.draw_memory_bars({"small": {"parameters": 4e9}}, limits={"device": 80e9}),
        "draw_parallelism": draw.draw_parallelism(),
        "draw_parameter_server": draw.draw_parameter_server(3, 2),
        "draw_replicas": draw.draw_replicas(),
        "draw_run_minutes": draw.draw_run_minutes({"a plan": (STEP, 23.6)}, 600, wanted=1.0),
        "draw_seconds_curves": draw.draw_seconds_curves(curves),
        "draw_step_seconds": draw.draw_step_seconds({"one machine": (20, 0), "eight machines": (2.5, 17.9)}),
        "draw_losses": draw.draw_losses({"asynchronous": TRAINED}),
        "draw_staleness": draw.draw_staleness({"asynchronous": TRAINED}),
        "draw_steps": draw.draw_steps({"overlapped": STEP}),
        "draw_faults": draw.draw_faults(FAULTS),
        "draw_goals": draw.draw_goals(GOALS, critical=8.0, fewest=10.0),
        "draw_taxonomy": draw.draw_taxonomy({("centralized", "asynchronous"): ("Downpour SGD", "softsync")}),
        "draw_timeline": draw.draw_timeline(ring),
        "draw_topologies": draw.draw_topologies(8, ["ring", "tree"]),
        "draw_topology": draw.draw_topology(8, "halving-doubling"),
        "draw_training_step": draw.draw_training_step(),
        "draw_winner_map": draw.draw_winner_map(winners, here=(2048, 3)),
    }


def more_pictures():
    """Figures as full as pages have them, and those of single chapters."""
    everyone = {name: simulated(ALL_REDUCES[name], 8) for name in ("ring", "tree", "direct", "halving-doubling")}
    ring = draw.replay(ring_all_reduce, 4)
    points = [
        draw.Curve(name, [ranks], [1e-3 * ranks], origin)
        for name in everyone
        for origin in ("computed", "simulated", "emulated", "measured")
        for ranks in [2**k for k in range(1, 11)]
    ]
    return {
        "values beside limits": draw.draw_memory_bars(
            {"states": {"parameters": 24e9}, "activations": {"activations": 161e9}}, limits={"a GPU of 32 GB": 32e9}
        ),
        "a share at its goal": draw.draw_idle_shares({"ZB-H1": (0.159, 8), "1F1B": (0.243, 8), "none": (0.1667, 8)}),
        "bits in zones": draw.draw_lines(
            {"right after": (range(32), [10.0 ** (b / 4 - 8) for b in range(32)])},
            Axis("flipped bit"),
            Axis("change of the loss", log=True),
            zones={"mantissa": (-0.5, 22.5), "exponent": (22.5, 30.5), "sign": (30.5, 31.5)},
            title="Only bit 30 does much harm",
        ),
        "bytes per rank": draw.draw_bytes_per_rank(everyone),
        "first circle": draw.draw_chunk_steps(ring, steps=[0, 1, 2, 3], title="First circle"),
        "all steps": draw.draw_chunk_steps(ring, columns=7),
        "steps of eight": draw.draw_chunk_steps(draw.replay(tree_all_reduce, 8, elements=1), columns=7),
        "chunks of eight": draw.draw_chunk_steps(draw.replay(ring_all_reduce, 8), [3]),
        "six topologies": draw.draw_topologies(8, list(ALL_REDUCES)[:6], ranks_per_node=4),
        "a large server": draw.draw_parameter_server(6, 6),
        "three scales": draw_three_scales({"slowed links": points, "this machine": points}, title="All-reduce"),
        "all-reduce explorer": AllReduceExplorer(world_size=8, algorithm="tree").still(),
        "step explorer": StepExplorer().still(),
        "server explorer": ServerExplorer(rate=16.0).still(),
    }
