"""PyTorch's own pipeline: the same schedule, the same loss, the same gradients."""

import torch
from torch import nn

from course_lib import run
from course_lib.pipeline import gpipe, one_forward_one_backward, run_schedule

WIDTH, MICRO_BATCHES, ROWS = 6, 4, 3
X = torch.randint(-3, 4, (MICRO_BATCHES * ROWS, WIDTH), generator=torch.Generator().manual_seed(1)).float()


def stage(number):
    """A layer whose weights are whole numbers, and one micro-batch's number that its passes write down."""
    layer = nn.Linear(WIDTH, WIDTH)
    draw = torch.Generator().manual_seed(number)
    with torch.no_grad():
        layer.weight.copy_(torch.randint(-2, 3, (WIDTH, WIDTH), generator=draw))
        layer.bias.copy_(torch.randint(-2, 3, (WIDTH,), generator=draw))
    return nn.Sequential(layer, nn.ReLU())


def with_torch(comm, kind):
    from torch.distributed import pipelining

    module, order = stage(comm.rank), []
    part = pipelining.PipelineStage(module, comm.rank, comm.world_size, torch.device("cpu"))
    losses = []
    schedule = getattr(pipelining, kind)(part, MICRO_BATCHES, loss_fn=lambda y, _: y.sum(), scale_grads=False)
    part.forward_one_chunk = noted("F", part.forward_one_chunk, order)
    part.backward_one_chunk = noted("B", part.backward_one_chunk, order)
    first, last = comm.rank == 0, comm.rank == comm.world_size - 1
    schedule.step(*[X] * first, target=X if last else None, losses=losses if last else None)
    return order, [p.grad for p in module.parameters()], float(sum(losses))


def noted(kind, function, order):
    def call(number, *args, **kwargs):
        order.append((kind, number))
        return function(number, *args, **kwargs)

    return call


def with_ours(comm, schedule):
    module = stage(comm.rank)
    shape, loss = (lambda *_: (ROWS, WIDTH)), (lambda y, _: y.sum())
    rank = run_schedule(comm, schedule, {comm.rank: module}, X.split(ROWS), shape, loss)
    order = [(kind, number) for kind, _, number in schedule.ranks[comm.rank]]
    return order, [p.grad for p in module.parameters()], sum(rank.losses.values())


def test_1f1b_is_torchs_operation_by_operation_with_equal_losses_and_gradients():
    ours = run(with_ours, 2, args=(one_forward_one_backward(2, MICRO_BATCHES),)).results
    theirs = run(with_torch, 2, args=("Schedule1F1B",)).results
    for (order, gradients, loss), (their_order, their_gradients, their_loss) in zip(ours, theirs, strict=True):
        assert order == their_order
        assert loss == their_loss
        assert all(torch.equal(a, b) for a, b in zip(gradients, their_gradients, strict=True))


def test_gpipe_has_torchs_loss_and_gradients_though_torch_goes_back_in_the_other_order():
    ours = run(with_ours, 2, args=(gpipe(2, MICRO_BATCHES),)).results
    theirs = run(with_torch, 2, args=("ScheduleGPipe",)).results
    for (order, gradients, loss), (their_order, their_gradients, their_loss) in zip(ours, theirs, strict=True):
        assert sorted(order) == sorted(their_order)
        assert order != their_order
        assert loss == their_loss
        assert all(torch.equal(a, b) for a, b in zip(gradients, their_gradients, strict=True))
