"""PyTorch's own tensor parallelism: a block cut by `parallelize_module` has our numbers and our collectives."""

import pytest
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module

from course_lib import run
from course_lib.collectives import ring_all_reduce
from course_lib.tasks import GPT, GPTConfig
from course_lib.tensor_parallel import ParallelBlock, is_shared, own_sequence, rows_of_heads

CONFIG = GPTConfig(vocabulary=32, context=8, layers=1, width=16, heads=4)
X = torch.randn(2, 8, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
BY_COLUMNS, BY_ROWS = ("attention.queries_keys_values", "mlp.0"), ("attention.output", "mlp.2")


def whole_block():
    return GPT(CONFIG).double().blocks[0]


def with_torch(comm, sequence_parallel):
    block = whole_block()
    for parameter in block.attention.queries_keys_values.parameters():
        parameter.data = rows_of_heads(parameter.data, comm.world_size)
    block.attention.heads //= comm.world_size
    cut = Shard(1) if sequence_parallel else None
    plan = {name: ColwiseParallel(input_layouts=cut) for name in BY_COLUMNS}
    plan |= {name: RowwiseParallel(output_layouts=cut) for name in BY_ROWS}
    plan |= {name: SequenceParallel() for name in ("attention_norm", "mlp_norm") if sequence_parallel}
    return parallelize_module(block, init_device_mesh("cpu", (comm.world_size,)), plan)


def with_ours(comm, sequence_parallel):
    return ParallelBlock(comm, whole_block(), sequence_parallel)


def one_step(comm, make, sequence_parallel):
    """Loss, gradient of x and all parameters' gradients of this rank, and what PyTorch counted of its own."""
    block = make(comm, sequence_parallel)
    x = (own_sequence(comm, X) if sequence_parallel else X).clone().requires_grad_()
    with CommDebugMode() as counter:
        loss = (block(x) ** 2).sum()
        loss.backward()
    grads = {}
    for name, parameter in block.named_parameters():
        grads[name] = parameter.grad.full_tensor() if isinstance(parameter.grad, DTensor) else parameter.grad
        if make is with_ours and sequence_parallel and is_shared(name):
            ring_all_reduce(comm, grads[name])
    counts = {str(kind).split(".")[1]: count for kind, count in counter.get_comm_counts().items()}
    return loss.item(), x.grad, grads, counts


@pytest.mark.parametrize("sequence_parallel", [False, True])
def test_a_block_has_dtensors_loss_and_gradients_of_every_parameter(sequence_parallel):
    theirs = run(one_step, 2, args=(with_torch, sequence_parallel)).results
    ours = run(one_step, 2, args=(with_ours, sequence_parallel)).results
    for rank in range(2):
        assert ours[rank][0] == pytest.approx(theirs[rank][0], abs=1e-12)
        torch.testing.assert_close(ours[rank][1], theirs[rank][1], rtol=0, atol=1e-12)
    for name, grad in theirs[0][2].items():
        parts = [result[2][name] for result in ours]
        whole = parts[0] if is_shared(name) else torch.cat(parts, int(name.removesuffix(".weight") in BY_ROWS))
        torch.testing.assert_close(whole, grad, rtol=0, atol=1e-12, msg=lambda text, name=name: f"{name}: {text}")
    cut = {"all_gather_into_tensor": 4, "reduce_scatter_tensor": 4}
    assert theirs[0][3] == (cut if sequence_parallel else {"all_reduce": 4})


def test_the_block_that_is_cut_has_the_gradients_of_one_process():
    block = whole_block()
    (block(X) ** 2).sum().backward()
    found = run(one_step, 2, args=(with_torch, True)).results[0][2]
    for name, parameter in block.named_parameters():
        expected = rows_of_heads(parameter.grad, 2) if "queries" in name else parameter.grad
        torch.testing.assert_close(found[name], expected, rtol=0, atol=1e-12)
