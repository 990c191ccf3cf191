"""What saves no memory: one unit of FSDP around all of the model, and a model that every rank makes whole."""

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from course_lib import run


def max_whole_at_once(comm, by_layer: bool) -> int:
    """Numbers of parameters that are whole on this rank, at their most, in a forward pass."""
    model, mesh = nn.Sequential(*[nn.Linear(4, 4, bias=False) for _ in range(8)]), init_device_mesh("cpu", (2,))
    seen = []
    for layer in model:
        layer.register_forward_hook(
            lambda *_: seen.append(sum(len(p.flatten()) for p in model.parameters() if whole(p)))
        )
        if by_layer:
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    model(torch.ones(1, 4))
    return max(seen)


def whole(parameter: nn.Parameter) -> bool:
    return not hasattr(parameter, "to_local")


def test_one_unit_around_all_layers_makes_all_of_them_whole_at_once() -> None:
    assert run(max_whole_at_once, 2, args=(False,)).results == [8 * 16] * 2
    assert run(max_whole_at_once, 2, args=(True,)).results == [16] * 2


def held_before_and_after(comm, device: str) -> tuple[int, int]:
    """Numbers of parameters in this rank's memory before the wrapper and after it."""
    with torch.device(device):
        model = nn.Linear(16, 8, bias=False)
    before = sum(p.numel() for p in model.parameters() if not p.is_meta)
    fully_shard(model, mesh=init_device_mesh("cpu", (comm.world_size,)))
    model.to_empty(device="cpu")
    return before, sum(p.to_local().numel() for p in model.parameters())


def test_a_model_made_whole_is_so_on_every_rank_and_made_on_meta_on_none() -> None:
    assert run(held_before_and_after, 2, args=("cpu",)).results == [(128, 64)] * 2
    assert run(held_before_and_after, 2, args=("meta",)).results == [(0, 64)] * 2
