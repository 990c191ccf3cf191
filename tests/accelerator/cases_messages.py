"""Cases of the collectives and of communicators, and of compression."""

import itertools
from functools import partial

import torch
from cases import case, gradients, net, weights
from torch import nn
from torch.nn import functional

from course_lib import collectives as c
from course_lib import compression as z
from course_lib import data_parallel as dp
from course_lib.tasks import digits_model

DTYPES = torch.float32, torch.float64, torch.int64, torch.bfloat16


def _all_reduce(comm, here, all_reduce, **settings):
    found = []
    for dtype, length, op in itertools.product(DTYPES, (1, 7, 20), ("sum", "mean", "max")):
        if not (dtype == torch.int64 and op == "mean"):
            found.append(here.whole(length, seed=comm.rank).to(dtype))
            all_reduce(comm, found[-1], op, **settings)
    return found


for _name, _each in c.ALL_REDUCES.items():
    _settings = {"ranks_per_node": 2} if "hierarchical" in _name else {}
    case(f"{_name} all-reduce", 4 if _settings else 5, covers=[_each.__name__])(
        partial(_all_reduce, all_reduce=_each, **_settings)
    )


@case("reduce-scatter, all-gather, all-to-all")
def _(comm, here):
    chunks = here.rand(7, seed=comm.rank).tensor_split(3)
    own = torch.empty_like(chunks[comm.rank])
    c.reduce_scatter(comm, own, chunks)
    whole = here.zeros(7).tensor_split(3)
    c.all_gather(comm, whole, own)
    boxes = [here.zeros(comm.rank + 1) for _ in range(3)]
    c.all_to_all(comm, boxes, [here.rand(rank + 1, seed=comm.rank) for rank in range(3)])
    return own, whole, boxes


@case("broadcast, reduce, gather, scatter, barrier", 5)
def _(comm, here):
    one, other = here.rand(7, seed=comm.rank), here.rand(7, seed=comm.rank)
    c.broadcast(comm, one, 2)
    c.reduce(comm, other, 1)
    many = [here.zeros(3) for _ in range(5)] if comm.rank == 3 else None
    c.gather(comm, here.rand(3, seed=comm.rank), many, 3)
    own = here.zeros(3)
    c.scatter(comm, own, many, 3)
    c.barrier(comm)
    comm.barrier()
    return one, other if comm.rank == 1 else None, own


@case("groups, started functions, receives from anyone", 4, not_on_nccl="it tries receives from anyone")
def _(comm, here):
    half = comm.group([0, 2] if comm.rank % 2 == 0 else [1, 3])
    assert half.device == comm.device
    in_half, beside, anyone = here.rand(5, seed=comm.rank), here.rand(9, seed=comm.rank), here.zeros(2)
    c.ring_all_reduce(half, in_half)
    comm.start(c.ring_all_reduce, beside).wait()
    if comm.rank:
        comm.send(here.rand(2), 0)
    for _ in range(3 if comm.rank == 0 else 0):
        comm.recv(anyone)
    return in_half, beside, anyone


@case("dropout on several ranks", 2)
def _(comm, here):
    found = []
    for _ in range(3):
        found.append(functional.dropout(torch.ones(16, device=here.device)))
        comm.barrier()
        digits_model()  # which must not touch what is drawn
    return found


def _compressed(comm, here, make):
    reduce, model = make(), here.on(net())
    for _ in range(2):
        model.zero_grad()
        here.backward(model)
        dp.average_gradients_in_buckets(comm, model, all_reduce=reduce)
    return gradients(model)


for _name, _make in {
    "top-k": lambda: z.CompressedAllReduce(z.TopK(0.3)),
    "one bit": lambda: z.CompressedAllReduce(z.OneBit()),
    "one bit, cut": lambda: z.CompressedSums(z.OneBit()),
}.items():
    _names = {name for name in _make.__code__.co_names if name[0].isupper()}
    case(f"compression: {_name}", covers=sorted(_names))(partial(_compressed, make=_make))


@case("compression: PowerSGD, its state saved and loaded")
def _(comm, here):
    model = here.on(net())
    first, second = (z.PowerSGD(model.parameters(), 1) for _ in range(2))
    for reduce in (first, first, second):
        if reduce is second:
            second.load_state_dict(first.state_dict())
        model.zero_grad()
        here.backward(model)
        dp.average_gradients_in_buckets(comm, model, all_reduce=reduce)
    return gradients(model)


@case("compression: pruned weights")
def _(comm, here):
    model = here.on(net())
    reduce = z.MaskedAllReduce(z.magnitude_masks(model, 0.5))
    here.backward(model)
    dp.average_gradients_in_buckets(comm, model, all_reduce=reduce)
    first, second = z.prune_neurons(here.on(nn.Linear(5, 8)), here.on(nn.Linear(8, 3)), 4)
    return gradients(model), first.weight.shape, second.weight.shape


@case("compression: one-bit Adam and an outer step")
def _(comm, here):
    model, outer = here.on(net()), here.on(net())
    one_bit, diloco = z.OneBitAdam(model, warm_up_steps=2, rate=0.01), z.OuterStep(outer)
    inner = torch.optim.AdamW(outer.parameters(), 0.01)
    for _ in range(4):
        for each in (model, outer):
            each.zero_grad()
            here.backward(each)
        one_bit(comm)
        inner.step()
        diloco(comm)
    return weights(model), weights(outer)
