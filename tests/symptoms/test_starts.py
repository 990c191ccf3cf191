"""What does not start: the words of the launcher, of the group, of the wrapper and of a frozen model."""

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.run import determine_local_world_size
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from course_lib import RankError, run


def ask_the_wrapper(comm) -> None:
    DistributedDataParallel(nn.Linear(2, 1)).in_features  # noqa: B018


def give_a_device_to_a_model_on_the_cpu(comm) -> None:
    DistributedDataParallel(nn.Linear(2, 1), device_ids=[0])


def make_the_group_again(comm) -> None:
    dist.init_process_group("gloo")


def freeze_half_of_a_unit(comm, **options) -> None:
    layers = nn.Sequential(nn.Linear(2, 2).requires_grad_(False), nn.Linear(2, 2))
    FullyShardedDataParallel(layers, device_id=torch.device("cpu"), **options)


@pytest.mark.parametrize(
    ("program", "cause"),
    [
        (ask_the_wrapper, "The wrapper has `forward`"),
        (give_a_device_to_a_model_on_the_cpu, "One process drives several devices"),
        (make_the_group_again, "A collective before `init_process_group`"),
        (freeze_half_of_a_unit, "What is gathered together has parameters of two dtypes, or frozen and trained ones"),
    ],
)
def test_a_refusal_is_found_by_its_words(causes, program, cause) -> None:
    with pytest.raises(RankError) as caught:
        run(program, 2)
    [found] = causes(str(caught.value))
    assert found.startswith(cause)


def test_with_its_own_parameters_the_first_fsdp_takes_frozen_and_trained_ones() -> None:
    run(freeze_half_of_a_unit, 2, kwargs={"use_orig_params": True})


def test_an_empty_number_of_processes_is_refused_by_the_launcher(causes) -> None:
    with pytest.raises(ValueError, match="nproc_per_node") as caught:
        determine_local_world_size("")
    [found] = causes(str(caught.value))
    assert found.startswith("The launcher and the script do not agree")


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_a_frozen_model_under_a_reentrant_checkpoint_has_no_gradient(causes) -> None:
    layer = nn.Linear(2, 1)
    with pytest.raises(RuntimeError) as caught:
        checkpoint(layer, torch.ones(2), use_reentrant=True).sum().backward()
    [found] = causes(str(caught.value))
    assert found.startswith("A frozen model with adapters under a reentrant checkpoint")
    checkpoint(layer, torch.ones(2), use_reentrant=False).sum().backward()
    assert layer.weight.grad is not None
