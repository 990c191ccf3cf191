"""A step of cut layers, ours against PyTorch's DTensor, taking turns on the same ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import nn
from torch.nn.functional import gelu

from benchmarks.row import Row, row_of
from benchmarks.turns import Seconds, launch_s, take_turns
from course_lib import model_parallel, tensor_parallel

__all__ = ["measure"]

_RANKS, _ROWS = 2, 64
_WIDTHS = (128, 512)


def _one_layer(comm, width: int, x: torch.Tensor) -> dict[str, Callable]:
    """Chapter 04's layer cut by outputs, its output gathered; forward and the gradient of x."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

    layer = nn.Linear(width, width)
    y_grad = torch.ones_like(x)
    own = model_parallel.OutputSplitLinear(comm, layer.weight.detach(), layer.bias.detach())

    def ours() -> torch.Tensor:
        model_parallel.gather(comm, own.forward(x), 1, width)
        return own.backward(model_parallel.own_part(comm, y_grad, 1))

    mesh = init_device_mesh("cpu", (comm.world_size,))
    cut = parallelize_module(layer, mesh, ColwiseParallel(output_layouts=Replicate()))

    def theirs() -> torch.Tensor:
        leaf = x.clone().requires_grad_()
        cut(leaf).backward(y_grad)
        return leaf.grad

    return {"torch": theirs, "ours": ours}


def _mlp(comm, width: int, x: torch.Tensor) -> dict[str, Callable]:
    """Chapter 05's MLP: its first layer by columns, its second by rows."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
    up = tensor_parallel.ColumnParallelLinear(comm, mlp[0])
    down = tensor_parallel.RowParallelLinear(comm, mlp[2])
    mesh = init_device_mesh("cpu", (comm.world_size,))
    cut = parallelize_module(mlp, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})

    def step(forward: Callable) -> torch.Tensor:
        leaf = x.clone().requires_grad_()
        forward(leaf).sum().backward()
        return leaf.grad

    return {"torch": lambda: step(cut), "ours": lambda: step(lambda leaf: down(gelu(up(leaf))))}


def _program(comm, steps_of: Callable, width: int, turns: int) -> Seconds:
    """Seconds of every step of both on this rank."""
    torch.manual_seed(0)
    seconds, gradients = take_turns(steps_of(comm, width, torch.randn(_ROWS, width)), turns)
    torch.testing.assert_close(gradients["ours"], gradients["torch"], rtol=1e-3, atol=1e-4)
    return seconds


def measure(launches: int = 5) -> Iterator[Row]:
    """Median time of our step over PyTorch's, per launch; then the median of the launches."""
    for what, steps_of in {"a layer cut by outputs": _one_layer, "an MLP by columns and rows": _mlp}.items():
        for width in _WIDTHS:
            ratios = []
            for _ in range(launches):
                medians = launch_s(_program, _RANKS, steps_of, width, 60)
                ratios.append(medians["ours"] / medians["torch"])
            name = f"{what}, {_ROWS} × {width}, {_RANKS} ranks: ours over DTensor's"
            yield row_of("split layers", name, ratios, "x", "at most 1.1")
