"""A step of a GPT in mixed precision, from scratch and by torch.amp; scales of ours beside torch's plain cast."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import torch

from benchmarks.row import Row, row_of
from course_lib.comm.devices import accelerator, wait_for
from course_lib.precision import in_fp8, in_fp8_blocks
from course_lib.precision.experiments.steps import step_in
from course_lib.tasks import GPT, GPTConfig

__all__ = ["measure"]


def measure(turns: int = 31) -> Iterator[Row]:
    """Median time of our step over torch.amp's: on a GPU where there is one, else on one thread of the processor."""
    device = accelerator()[0] or "cpu"
    width, layers = (768, 12) if device != "cpu" else (128, 2)
    config, threads = GPTConfig(width=width, layers=layers), torch.get_num_threads()
    tokens = torch.randint(256, (8, config.context), device=device)
    torch.set_num_threads(1)
    try:
        steps = [step_in(way, GPT(config).to(device), tokens, tokens.roll(-1, 1)) for way in _WAYS]
        times_s = [[_seconds(step) for step in steps] for _ in range(turns + 3)][3:]
        scales = list(_scales(device, turns))
    finally:
        torch.set_num_threads(threads)
    ratios = [ours / theirs for ours, theirs in times_s]
    what = f"a step of a GPT in fp16, from scratch over torch.amp's, {device}"
    goal = "at most 1.05" if device != "cpu" else ""  # a processor's autocast leaves norms in fp16, ours does not
    yield row_of("precision", what, ratios, "x", goal)
    yield from scales


def _scales(device: str, turns: int) -> Iterator[Row]:
    """Time of rounding a matrix to 8 bits with scales, over torch's cast to the same format without any."""
    matrix = torch.randn(1024, 1024, device=device)
    ways = {
        "a scale": lambda: in_fp8(matrix),
        "a scale a block of 1 × 32": lambda: in_fp8_blocks(matrix, (1, 32)),
        "a scale a block of 128 × 128": lambda: in_fp8_blocks(matrix, (128, 128), "fp32"),
    }
    for name, way in ways.items():
        pairs = [
            (_seconds(way, device), _seconds(lambda: matrix.to(torch.float8_e4m3fn), device)) for _ in range(turns + 3)
        ]
        what = f"1024 × 1024 to e4m3 with {name}, over torch's cast without, {device}"
        yield row_of("precision", what, [ours / theirs for ours, theirs in pairs[3:]], "x")


_WAYS = ("from scratch", "torch.amp")


def _seconds(step: Callable[[], object], device: str = "cpu") -> float:
    """The time of one step. One of a GPT ends by reading its loss, and so waits for a GPU."""
    start_s = time.perf_counter()
    step()
    wait_for(torch.device(device))
    return time.perf_counter() - start_s
