"""A step by a plan against `checkpoint_sequential`, with its segments and the best plan; chains and graphs planned."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

from benchmarks.row import Row, row_of
from course_lib import checkpointing
from course_lib.checkpointing import graphs

__all__ = ["measure"]

_DEPTH, _WIDTH, _ROWS, _SEGMENTS = 12, 256, 512, 6
_STEPS = (
    ("segments", "a step by the same segments", "at most 1.2"),
    ("optimum", "a step by the best plan in as much memory", "at most 1"),
)


def _seconds(steps: dict[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """The median of each step, taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(turns + 2):
        for name, step in steps.items():
            began_s = time.perf_counter()
            step()
            seconds[name].append(time.perf_counter() - began_s)
    return {name: statistics.median(each[2:]) for name, each in seconds.items()}


def measure(launches: int = 5) -> Iterator[Row]:
    """The median of the launches, each the median of twenty steps."""
    torch.set_num_threads(1)
    parts = ([nn.Linear(_WIDTH, _WIDTH), nn.LayerNorm(_WIDTH), nn.ReLU()] for _ in range(_DEPTH))
    model, x = nn.Sequential(*(layer for part in parts for layer in part)), torch.randn(_ROWS, _WIDTH)
    chain, layers = checkpointing.chain_of(model, x), checkpointing.layers_of(model)
    plan = checkpointing.segment_plan(checkpointing.torch_segments(len(model), _SEGMENTS))
    best = checkpointing.plan_chain(chain, checkpointing.plan_peak(plan, chain))

    def by_plan(actions: checkpointing.Plan) -> Callable[[], object]:
        return lambda: checkpointing.run_plan(actions, chain, layers, {0: x}, torch.sum)

    steps: dict[str, Callable[[], object]] = {
        "torch": lambda: checkpoint_sequential(model, _SEGMENTS, x, use_reentrant=False).sum().backward(),
        "segments": by_plan(plan),
        "optimum": by_plan(best),
    }
    runs = [_seconds(steps, 20) for _ in range(launches)]
    what = f"{len(model)} layers in {_SEGMENTS} segments, {_ROWS} × {_WIDTH}"
    for name, said, goal in _STEPS:
        ratios = [run[name] / run["torch"] for run in runs]
        yield row_of("checkpointing", f"{said} over PyTorch's, {what}", ratios, "x", goal)
    taken = [_planning_s() for _ in range(launches)]
    yield row_of("checkpointing", "a chain of 1,000 layers planned", taken, "s", "at most 1")
    planners: dict[str, Callable[[checkpointing.Graph], object]] = {
        "divide and conquer": graphs.separator_plan,
        "optimum, 15 cuts": _optimum,
    }
    for name, planner in planners.items():
        ratios = [_doubled(planner) for _ in range(launches)]
        what = f"a residual graph of 768 nodes planned, over one of 384: {name}"
        yield row_of("checkpointing", what, ratios, "x", "at most 3")


def _planning_s() -> float:
    """Seconds to plan a thousand layers of any sizes in the memory that √n segments take."""
    draw = torch.Generator().manual_seed(0)
    sizes, times = (torch.randint(1, top, (1001,), generator=draw).tolist() for top in (1000, 9))
    node = checkpointing.Node
    rest = {i: node((i - 1,), (i - 1,), sizes[i], 0, times[i]) for i in range(1, 1001)}
    long = {0: node(output_bytes=sizes[0])} | rest
    budget = checkpointing.plan_peak(checkpointing.segment_plan(checkpointing.best_segments(1000)), long)
    began_s = time.perf_counter()
    checkpointing.ChainPlanner(long, budget).plan()
    return time.perf_counter() - began_s


def _optimum(graph: checkpointing.Graph) -> object:
    """With memory for four values a root of the blocks, and 15 cuts."""
    blocks = len(graph) // 3
    return graphs.graph_optimum(graph, 4 * blocks**0.5, range(blocks // 16, blocks, blocks // 16))


def _doubled(planner: Callable[[checkpointing.Graph], object]) -> float:
    """Processor time to plan twice as many residual blocks, over that of as many, the least of five each."""
    once, twice = (graphs.residual_shape(blocks) for blocks in (128, 256))
    taken: dict[int, list[float]] = {len(once): [], len(twice): []}
    for _ in range(5):
        for graph in (once, twice):
            began_s = time.process_time()
            planner(graph)
            taken[len(graph)].append(time.process_time() - began_s)
    return min(taken[len(twice)]) / min(taken[len(once)])
