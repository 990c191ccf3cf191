"""Cases of faults, and of what one process does alone."""

import torch
from cases import ADAM, case, gradients, net, weights
from torch import nn
from torch.nn import functional

from course_lib import checkpointing as ck
from course_lib import decomposition as de
from course_lib import faults as fa
from course_lib import precision as pr
from course_lib import storage as st
from course_lib.data_parallel.zero import ShardedOptimizer, ShardedParameters
from course_lib.replay import Replay
from course_lib.tasks.batches import random_batches
from course_lib.tasks.digits import accuracy, digits_model, scores


@case("faults: a checkpoint, and what is read of it")
def _(comm, here):
    model, checkpoints = here.on(net()), fa.Checkpoints(here.folder, comm)
    optimizer = ADAM(model.parameters())
    here.backward(model)
    optimizer.step()
    checkpoints.save(1, {"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    comm.barrier()
    again, saved = here.on(net(1)), checkpoints.load(1)
    assert {tensor.device.type for tensor in saved["model"].values()} == {"cpu"}
    other = ADAM(again.parameters())
    again.load_state_dict(saved["model"])
    other.load_state_dict(saved["optimizer"])
    here.backward(again)
    other.step()
    return weights(again), fa.common_step(comm, [1, 2, 2 + comm.rank])


@case("faults: random numbers go on", 2)
def _(comm, here):
    x, states = torch.ones(64, device=here.device), fa.random_states()
    first = functional.dropout(x)
    comm.barrier()
    fa.restore_random_states(states)
    assert torch.equal(first, functional.dropout(x))
    return first


@case("faults: a training that is saved and goes on", 2)
def _(comm, here):
    training = fa.Training(here.digits(), comm=comm)
    training.train_step()
    saved = fa.snapshot(training.state_dict())
    training.train_step()
    after = weights(training.model)
    training.load_state_dict(saved)
    training.train_step()
    for one, other in zip(after, weights(training.model), strict=True):
        assert torch.equal(one, other)
    return after


@case("faults: a neighbour's copy")
def _(comm, here):
    model = here.on(net())
    zero = ShardedOptimizer(comm, model, ADAM)
    copies = fa.NeighborCopy(comm, zero)
    for step in range(3):
        zero.zero_grad()
        here.backward(model)
        zero.step()
        copies.save()
        if step == 1:
            if comm.rank == 1:
                copies.forget()
            copies.restore(1)
    return weights(model)


@case("faults: shards saved and loaded")
def _(comm, here):
    found, checkpoints = [], fa.Checkpoints(here.folder, comm)
    fa.save_shards(checkpoints, comm, 9, {"row": here.rand(7).tensor_split(3)[comm.rank]})
    row = fa.load_shards(checkpoints, comm, 9, {"row": 7})["row"].to(here.device)
    for step, kind in enumerate((ShardedOptimizer, ShardedParameters), 10):
        for seed in (0, 1):
            model = here.on(net(seed))
            zero = kind(comm, model, ADAM)
            if seed:
                fa.load_zero(checkpoints, comm, step, zero)
            zero.zero_grad()
            here.backward(model)
            zero.step()
            if not seed:
                fa.save_zero(checkpoints, comm, step, zero)
        with zero.whole():
            found += weights(model)
    return row, found


@case("checkpointing: recomputed dropout and batch norm", 1)
def _(comm, here):
    torch.default_generator.manual_seed(0)
    layers = [nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.3)]
    layers += [nn.Flatten(), nn.Linear(64, 12), nn.LayerNorm(12), nn.GELU(), nn.Dropout(0.5), nn.Linear(12, 3)]
    model, x, found = here.on(nn.Sequential(*layers)), here.rand(6, 1, 8, 8), []
    graph, replay = ck.chain_of(model, x), Replay(model[4], here.device)
    for plan in (ck.segment_plan([0, 4, 8, 11]), ck.segment_plan([0, 11])):
        torch.manual_seed(5)
        model.zero_grad()
        ck.run_plan(plan, graph, ck.layers_of(model), {0: x}, lambda y: y.square().sum())
        found += [gradient.clone() for gradient in gradients(model)]
    for again in range(2):
        with replay.run():
            found.append(model[4](torch.ones(64, device=here.device)))
        assert not again or torch.equal(*found[-2:])
    q, k, v = (here.rand(2, 7, 4, seed=seed).requires_grad_() for seed in range(3))
    (ck.RecomputedAttention.apply(q, k, v, 3) ** 2).sum().backward()
    return found, q.grad, k.grad, v.grad


@case("precision: weights in few bits", 1, covers=["MasterWeights", "stochastic_rounding"])
def _(comm, here):
    found = []
    for dtype, settings in (
        (torch.float16, {}),
        (torch.bfloat16, {"keep": False, "rounding": pr.stochastic_rounding(torch.bfloat16)}),
    ):
        model, x = here.on(net()), here.rand(4, 5, dtype=dtype)
        kept, scaler = pr.MasterWeights(model, dtype, **settings), pr.DynamicScaler(2.0**10)
        optimizer = torch.optim.Adam(kept.parameters)
        for _ in range(2):
            pr.mixed_step(kept, optimizer, scaler, lambda: model(x).float().square().sum())  # noqa: B023
        found += weights(model)
    small, optimizer = here.on(net()), None
    optimizer = pr.Adam8bit(small.parameters(), lr=0.1, block=8)
    for _ in range(3):
        optimizer.zero_grad()
        here.backward(small)
        optimizer.step()
    return found, weights(small)


@case("precision: eight bits", 1)
def _(comm, here):
    x = here.rand(8, 8)
    torch.default_generator.manual_seed(0)
    layer = here.on(pr.Fp8Linear(8, 4))
    layer(x).square().sum().backward()
    coded = pr.E4M3.decode(pr.E4M3.encode(x)), pr.E4M3.round(x), list(pr.fates(x, pr.E4M3))
    return coded, pr.in_fp8(x).widened(), pr.in_fp8_blocks(x, (1, 4)).widened(), gradients(layer)


@case("precision: one rank's overflow is everybody's")
def _overflow(comm, here):
    gradients = [here.rand(3, seed=comm.rank)] * (comm.rank != 2)  # a rank may have none
    alone = pr.unscale(gradients, 4.0, comm)
    if comm.rank == 1:
        gradients[0][0] = float("inf")
    return float(alone), float(pr.unscale(gradients, 4.0, comm))


@case("precision: sums on the wire")
def _(comm, here):
    one, other = here.rand(7, seed=comm.rank), here.rand(7, seed=comm.rank)
    pr.all_reduce_in(torch.bfloat16)(comm, one)
    pr.all_reduce_at_owners(torch.bfloat16)(comm, other)
    return one, other, pr.sum_round_ring(here.rand(4, 10, dtype=torch.float16))


@case("decomposition: layers of few numbers", 1, tolerance=1e-4)
def _(comm, here):
    torch.default_generator.manual_seed(0)
    dense, trained = here.on(nn.Linear(64, 8)), here.on(de.TTLinear([2, 3], [3, 2], 2))
    few = de.LoRALinear(de.FourBitLinear(dense, 32), 2)
    few(here.rand(4, 64)).sum().backward()
    trained(here.rand(4, 6)).sum().backward()
    moved = here.on(de.FourBitLinear(nn.Linear(64, 8), 32))
    return [each for each in gradients(few) if each is not None], gradients(trained), moved(here.rand(4, 64))


@case("decomposition: trains, Tucker, crosses", 1, tolerance=1e-4)
def _(comm, here):
    x, w = here.rand(4, 5, 6, dtype=torch.float64), here.rand(5)
    train = de.tt_svd(x, 0.1)
    cross = de.tt_cross(lambda places: w[places].sum(1).double(), (5, 5, 5), 2)
    found = train.full(), de.hosvd(x, 0.1).full(), de.truncated_svd(x[0], 0.1).full(), cross.train.full()
    return found, de.tt_round(de.tt_add(train, train), 0.1).full(), de.tt_norm(train)


@case("digits, batches, tokens", 1)
def _(comm, here):
    digits, model = here.digits(), here.on(digits_model(batch_norm=True))
    st.write_tokens(here.whole(50, low=0, high=9), here.folder / "tokens")
    tokens = st.TokenWindows(here.folder / "tokens", 4).tokens.tolist()
    test = digits.test_inputs, digits.test_labels
    return accuracy(model, *test), scores(model, *test), here.rand(20, 2)[next(random_batches(20, 4))], tokens
