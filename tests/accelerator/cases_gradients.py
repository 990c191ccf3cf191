"""Cases of data parallelism: averages, ZeRO, and other ways to share the work."""

import itertools
from functools import partial

import torch
from cases import ADAM, FROM_ANYONE, Here, case, gradients, net, weights
from torch import nn

from course_lib import data_parallel as dp
from course_lib.data_parallel.zero import (
    FetchedAhead,
    ShardedGradients,
    ShardedOptimizer,
    ShardedParameters,
    elements_held,
    memory_moments,
)
from course_lib.tasks import digits_model


@case("gradients averaged at the end")
def _(comm, here):
    found = []
    for average in (dp.average_gradients, partial(dp.average_gradients_in_buckets, bucket_bytes=100)):
        for examples in (4, 2 + comm.rank):
            model = here.on(net())
            here.backward(model, examples)
            average(comm, model, examples)
            found += gradients(model)
    return found, dp.batch_share(comm, 1 + comm.rank)


@case("gradients averaged while the backward pass runs")
def _(comm, here):
    model = here.on(net())
    average = dp.OverlappedAverage(comm, model, 60)
    here.backward(model)
    average.finish()
    return gradients(model)


for _overlap in (True, False):

    @case(f"DataParallel, overlap={_overlap}")
    def _(comm, here, overlap=_overlap):
        model = dp.DataParallel(comm, here.on(net()), 60, overlap=overlap)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        for _ in range(2):
            optimizer.zero_grad()
            model.share = (1 + comm.rank) / 6
            with model.no_sync():
                here.backward(model, 1 + comm.rank)
            here.backward(model, 1 + comm.rank)
            optimizer.step()
        return weights(model)


@case("DataParallel, a parameter that only one rank uses")
def _(comm, here):
    modules = nn.ModuleDict({"all": net(), "one": net(1)})
    modules.forward = lambda x: modules["all"](x) + (modules["one"](x) if comm.rank == 1 else 0)
    model = dp.DataParallel(comm, here.on(modules), 60)
    here.backward(model)
    return gradients(model)


@case("SyncBatchNorm")
def _(comm, here):
    layers = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    model = dp.synchronize_batch_norm(comm, here.on(layers))
    here.backward(model, 2 + comm.rank)
    plain = here.on(dp.SyncBatchNorm(comm, 5, affine=False, momentum=None))
    x = here.rand(4, 5, seed=comm.rank).requires_grad_()
    (plain(x) ** 2 * here.rand(4, 5)).sum().backward()
    return gradients(model), list(model.buffers()), x.grad, list(plain.buffers())


@case("states that agree, and one that does not")
def _(comm, here):
    model = here.on(net(comm.rank))
    apart = dp.drift(comm, model)
    try:
        dp.check_agreement(comm, model)
        words = ""
    except dp.DisagreementError as error:
        words = str(error)
    dp.broadcast_state(comm, model)
    dp.check_agreement(comm, model)
    return apart, words, weights(model), dp.state_hash(model)


@case("parameters averaged")
def _(comm, here):
    model = here.on(net(comm.rank))
    dp.average_parameters(comm, model)
    return weights(model)


def _zero(comm, here: Here, kind):
    model = here.on(net())
    zero = kind(comm, model, ADAM)
    for _ in range(3):
        zero.share = (1 + comm.rank) / 6
        zero.zero_grad()
        here.backward(model, 1 + comm.rank)
        norm = zero.clip_grad_norm_(0.5)
        zero.step()
    with memory_moments(zero):
        held = list(elements_held(zero))
    with zero.whole():
        return weights(model), norm, held


for _kind in (ShardedOptimizer, ShardedGradients, ShardedParameters):
    case(f"ZeRO: {_kind.__name__}", covers=[_kind.__name__])(partial(_zero, kind=_kind))


@case("ZeRO's stage 3, one unit fetched ahead")
def _(comm, here):
    torch.manual_seed(1)
    units = [here.on(nn.Sequential(nn.Linear(5, 5), nn.Tanh())) for _ in range(3)]
    sharded = FetchedAhead(comm, units)
    loss = sharded.backward(here.rand(1 + comm.rank, 5, seed=comm.rank), lambda outputs: outputs.square().mean(), 0.5)
    return [shard.grad for shard in sharded.shards], loss, sharded.most_whole


@case("training balanced by speed")
def _(comm, here):
    digits = here.digits()
    model = here.on(digits_model())
    settings = {"batch_size": 14, "steps": 3, "seconds_per_example": 0.1}
    return dp.train_balanced(comm, model, digits.train_inputs, digits.train_labels, **settings)[1]


@case("local SGD")
def _(comm, here):
    model, found = here.on(digits_model()), []
    for inputs, labels in itertools.islice(dp.part_batches(comm, here.digits(), 4, 2), 2):
        found += [model(inputs), labels]
    run = dp.train_local_sgd(comm, here.digits(), 2, steps=4)
    return found, list(run) if isinstance(run, tuple) else list(vars(run).values())


@case("gossip", 4)
def _(comm, here):
    row = here.rand(9, seed=comm.rank)
    dp.gossip_round(comm, row)
    return row, list(dp.train_with_gossip(comm, here.digits(), steps=3))


@case("gossip without a clock", 4, not_on_nccl=FROM_ANYONE)
def _(comm, here):
    shared = dp.SharedRow(here.rand(9, seed=comm.rank))
    averaging = comm.start(dp.keep_averaging, shared, 0.5)
    for _ in range(3):
        comm.compute(1.0)
        shared.move(here.rand(9, seed=4))
    shared.over = True
    averaging.wait()
    return shared.read()


@case("copies of each batch", 5, not_on_nccl=FROM_ANYONE)
def _(comm, here):
    digits, settings = here.digits(), {"copies": 2, "steps": 3, "batch_size": 12}
    model = here.on(digits_model(hidden=4))
    run = dp.train_redundantly(
        comm, model, digits.train_inputs, digits.train_labels, seconds=lambda worker, step: 1.0 + worker, **settings
    )
    return run.parameters if run else None


@case("streams of text", 2)
def _(comm, here):
    torch.default_generator.manual_seed(0)
    model, tokens = here.on(dp.CharacterModel(10, 8)), here.whole(4, 40, low=0, high=10)
    gradient = dp.time_split_gradient(comm, model, tokens, tokens.roll(-1, 1), pieces=2)
    return gradient, dp.train_on_streams(comm, model, tokens, window=8, steps=3)[0]
