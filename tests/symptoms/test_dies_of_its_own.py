"""What dies on one process too: its words, and what the checks show."""

import os
import signal

import pytest
import torch
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, start_processes
from torch.utils.checkpoint import checkpoint


def end_by(number: int) -> None:
    os.kill(os.getpid(), number)


def end_as_a_rank_by(rank: int, number: int) -> None:
    end_by(number)


@pytest.mark.parametrize(
    ("number", "begins"), [(signal.SIGKILL, "Something outside ended it"), (signal.SIGSEGV, "Code outside of Python")]
)
def test_spawn_names_the_signal_that_ended_a_rank(causes, number, begins) -> None:
    with pytest.raises(mp.ProcessExitedException, match=f"terminated with signal {number.name}") as caught:
        mp.spawn(end_as_a_rank_by, args=(number,))
    [cause] = causes(str(caught.value))
    assert cause.startswith(begins)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_segmentation_fault_is_told_by_the_launcher_as_a_signal(causes) -> None:
    agent = start_processes(
        "rank", end_by, {0: (signal.SIGSEGV,)}, {0: {}}, logs_specs=DefaultLogsSpecs(), start_method="fork"
    )
    ended = agent.wait(60)
    assert ended is not None
    assert ended.failures[0].exitcode == -signal.SIGSEGV
    [cause] = causes(ended.failures[0].message)
    assert cause.startswith("Code outside of Python")


def test_a_token_beyond_its_table_is_named_on_the_cpu(causes) -> None:
    with pytest.raises(IndexError) as caught:
        nn.Embedding(3, 2)(torch.tensor([2, 3]))
    [cause] = causes(str(caught.value))
    assert cause.startswith("An index beyond its table")
    nn.Embedding(4, 2)(torch.tensor([2, 3]))


def test_a_label_beyond_its_table_is_named_on_the_cpu(causes) -> None:
    with pytest.raises(IndexError) as caught:
        nn.functional.cross_entropy(torch.ones(1, 3), torch.tensor([3]))
    [cause] = causes(str(caught.value))
    assert cause.startswith("An index beyond its table")


class Drawn(nn.Module):
    """A layer that goes another way when it is computed once more."""

    def __init__(self, stays: bool) -> None:
        super().__init__()
        self.layer, self.stays, self.calls = nn.Linear(2, 2), stays, 0

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        values = self.layer(values).tanh()
        return values.sigmoid() if self.stays or self.calls == 1 else values


def test_what_is_recomputed_must_go_the_same_way(causes) -> None:
    inputs = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError) as caught:
        checkpoint(Drawn(stays=False), inputs, use_reentrant=False).sum().backward()
    [cause] = causes(str(caught.value))
    assert cause.startswith("A checkpoint's second forward pass went another way")
    checkpoint(Drawn(stays=True), inputs, use_reentrant=False).sum().backward()


def test_too_much_memory_is_refused_with_its_size(causes) -> None:
    with pytest.raises(RuntimeError, match=str(2**52)) as caught:
        torch.empty(2**50)
    [cause] = [each for each in causes(str(caught.value)) if not each.startswith("Something outside")]
    assert cause.startswith("More parameters, gradients, optimizer and activations")


def test_batch_norm_refuses_one_sample(causes) -> None:
    with pytest.raises(ValueError, match="more than 1 value") as caught:
        nn.BatchNorm1d(2)(torch.ones(1, 2))
    [cause] = causes(str(caught.value))
    assert "each rank's BatchNorm sees few samples" in cause


def test_half_precision_weights_cannot_be_unscaled(causes) -> None:
    for dtype in (torch.float16, torch.float32):
        weight, scaler = nn.Parameter(torch.ones(2, dtype=dtype)), torch.amp.GradScaler("cpu")
        optimizer = torch.optim.SGD([weight])
        scaler.scale(weight.float().sum()).backward()
        if dtype is torch.float32:
            scaler.unscale_(optimizer)
            continue
        with pytest.raises(ValueError, match="FP16") as caught:
            scaler.unscale_(optimizer)
        [cause] = causes(str(caught.value))
        assert cause.endswith("`unscale`: the weights are fp16.")


def test_an_optimizer_without_a_gradient_is_missed_by_the_scaler(causes) -> None:
    used, held = (nn.Parameter(torch.ones(2)) for _ in range(2))
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(used.sum()).backward()
    with pytest.raises(AssertionError) as caught:
        scaler.step(torch.optim.SGD([held]))
    [cause] = causes(str(caught.value))
    assert cause.startswith("The optimizer was made before the wrapper")
    scaler.step(torch.optim.SGD([used]))
