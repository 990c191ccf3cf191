"""One step of a GPT in fp32, by torch.amp, and from scratch, on whatever device the model is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from course_lib.precision.mixed_training import DynamicScaler, MasterWeights, mixed_step
from course_lib.tasks import GPT, next_token_loss

WAYS = ("fp32", "torch.amp", "from scratch")
_RATE = 0.1


def step_in(way: str, model: GPT, tokens: torch.Tensor, targets: torch.Tensor) -> Callable[[], object]:
    """A function that makes one step of gradient descent; the model is the step's from now on.

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
    optimizer = torch.optim.SGD(model.parameters(), lr=_RATE)
    if way == "torch.amp":
        scaler = torch.amp.GradScaler(tokens.device.type)
        return partial(_amp_step, model, optimizer, scaler, tokens, targets)
    return partial(_step, model, optimizer, tokens, targets)


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
