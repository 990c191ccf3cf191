"""A second run is the first one again: the same random numbers and buffers, and no second effect."""

import pytest
import torch
from torch import nn

from course_lib.replay import Replay


class Drifting(nn.Module):
    """Its value depends on a buffer that each run changes, as spectral norm's does."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(()))

    def forward(self, x):
        self.scale.mul_(2)
        return x * self.scale


@pytest.mark.parametrize(
    "function",
    [
        nn.Dropout(0.5),
        nn.BatchNorm1d(4),
        Drifting(),
        nn.Sequential(nn.Dropout(0.5), Drifting()),
        torch.exp,
        lambda x: x,
    ],
    ids=["dropout", "batch norm", "drifting buffer", "both", "function", "nothing"],
)
def test_a_later_run_gives_what_the_first_gave_and_leaves_no_trace(function):
    x = torch.randn(8, 4)
    replay = Replay(function, x.device)
    with replay.run():
        first = function(x)
    for _ in range(2):
        function(x)  # another run between
        state = torch.get_rng_state()
        buffers = [each.clone() for each in function.buffers()] if isinstance(function, nn.Module) else []
        with replay.run():
            again = function(x)
        assert torch.equal(first, again)
        assert torch.equal(state, torch.get_rng_state())
        for now, before in zip(getattr(function, "buffers", list)(), buffers, strict=True):
            assert torch.equal(now, before)
