"""An optimizer's settings, apart from its parameters and their states: taken out to be saved, and put back."""

from __future__ import annotations

import copy
from typing import Any

import torch

__all__ = ["settings_of", "take_settings"]


def settings_of(optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
    """Rates, as schedules have changed them, and all else that each group has beside its parameters: a copy.

    >>> settings_of(torch.optim.SGD([torch.zeros(1)], lr=0.5))[0]["lr"]
    0.5
    """
    groups = optimizer.param_groups
    return [{name: copy.deepcopy(value) for name, value in group.items() if name != "params"} for group in groups]


def take_settings(optimizer: torch.optim.Optimizer, settings: list[dict[str, Any]]) -> None:
    """Give each group its settings, which are copied.

    Raises:
        ValueError: if the optimizer has another number of groups.
    """
    if len(settings) != len(optimizer.param_groups):
        raise ValueError(f"the optimizer has {len(optimizer.param_groups)} groups, and the saved one {len(settings)}")
    for group, saved in zip(optimizer.param_groups, settings, strict=True):
        group.update(copy.deepcopy(saved))
