"""One step of a GPT in several precisions: on a GPU its time and memory; the steps themselves run anywhere."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import torch

from course_lib.comm.devices import accelerator, wait_for
from course_lib.precision.loss_scaling import DynamicScaler
from course_lib.precision.master_weights import MasterWeights
from course_lib.precision.roofline import fastest_s
from course_lib.precision.training import mixed_step
from course_lib.tasks import GPT, GPTConfig, next_token_loss

__all__ = ["WAYS", "StepCost", "measure_step", "step_in", "why_no_gpu"]

WAYS = ("fp32", "tf32", "fp16", "bf16", "torch.amp", "from scratch")
_WHOLE = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
_RATE = 0.1


class StepCost(NamedTuple):
    """The fastest of some steps, and the most memory that was held in them."""

    seconds: float
    peak_bytes: int


def why_no_gpu() -> str:
    """Why nothing can be measured on a GPU here, "" where it can."""
    if not accelerator()[1]:
        return "no CUDA GPU here: speed and memory in fp16 are not measured"
    try:
        torch.accelerator.max_memory_allocated()
    except RuntimeError as error:
        return f"this accelerator does not count its memory ({error}): nothing is measured"
    return ""


def step_in(way: str, model: GPT, tokens: torch.Tensor, targets: torch.Tensor) -> Callable[[], object]:
    """A function that makes one step of gradient descent; the model is the step's from now on.

    "fp32", "tf32", "fp16" and "bf16" keep everything in one format, without a loss scale: their speed is the point.
    "torch.amp" is PyTorch's autocast with its GradScaler; "from scratch" is `mixed_step`. Both are in fp16.

    Raises:
        ValueError: if `way` is none of WAYS.
    """
    if way not in WAYS:
        raise ValueError(f"way must be one of {', '.join(WAYS)}, got {way!r}")
    if way == "from scratch":
        master = MasterWeights(model, torch.float16)
        optimizer = torch.optim.SGD(master.parameters, lr=_RATE)
        return partial(mixed_step, master, optimizer, DynamicScaler(), lambda: _loss(model, tokens, targets))
    model.to(_WHOLE.get(way, torch.float32))
    optimizer = torch.optim.SGD(model.parameters(), lr=_RATE)
    if way == "torch.amp":
        scaler = torch.amp.GradScaler(tokens.device.type)
        return partial(_amp_step, model, optimizer, scaler, tokens, targets)
    return partial(_step, model, optimizer, tokens, targets)


def measure_step(way: str, config: GPTConfig, batch_size: int, repeats: int = 10) -> StepCost:
    """Time and memory of one step on the first GPU.

    Raises:
        RuntimeError: where there is none.
    """
    if reason := why_no_gpu():
        raise RuntimeError(reason)
    device = torch.device(accelerator()[0])
    tokens = torch.randint(config.vocabulary, (batch_size, config.context), device=device)
    step = step_in(way, GPT(config).to(device), tokens, tokens.roll(-1, 1))

    def whole_step() -> None:
        step()
        wait_for(device)

    with _tf32(way == "tf32"):
        torch.accelerator.reset_peak_memory_stats()
        seconds = fastest_s(whole_step, repeats)
    return StepCost(seconds, torch.accelerator.max_memory_allocated())


def _loss(model: GPT, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return next_token_loss(model(tokens).float(), targets)


def _step(model: GPT, optimizer: torch.optim.Optimizer, tokens: torch.Tensor, targets: torch.Tensor) -> float:
    optimizer.zero_grad()
    loss = _loss(model, tokens, targets)
    loss.backward()
    optimizer.step()
    return loss.item()


def _amp_step(
    model: GPT,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    tokens: torch.Tensor,
    targets: torch.Tensor,
) -> float:
    optimizer.zero_grad()
    with torch.autocast(tokens.device.type, torch.float16):
        loss = _loss(model, tokens, targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@contextlib.contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    """Let products of fp32 matrices read tf32, or not."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = allowed
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
