"""One small model, trained by one process and in parts by two ranks, with one thing beside: a pair of the table."""

from contextlib import nullcontext

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from course_lib.collectives import ring_all_reduce
from course_lib.compression import CompressedAllReduce, TopK
from course_lib.data_parallel import DataParallel
from course_lib.data_parallel.clipping import clip_parts_
from course_lib.data_parallel.zero import ZERO_STAGES
from course_lib.faults import load_zero, save_zero
from course_lib.pipeline import one_forward_one_backward, run_schedule
from course_lib.precision import unscale
from course_lib.tensor_parallel import ColumnParallelLinear, ExpertParallel, RowParallelLinear, mixture_on_one_process

WIDTH, ROWS = 4, 8


class Block(nn.Module):
    """Two layers and a way around them; what the features ask for beside."""

    def __init__(self, feature):
        super().__init__()
        self.feature = feature
        self.up, self.down = nn.Linear(WIDTH, 8), nn.Linear(8, WIDTH)
        if feature == "frozen and unused parameters":
            self.unused = nn.Linear(2, 2)
            self.up.weight.requires_grad_(False)
            self.down.bias.requires_grad_(False)
        if feature == "complex and 0-dimensional parameters":
            self.size = nn.Parameter(torch.tensor(0.5))
            self.turn = nn.Parameter(torch.randn(2, dtype=torch.complex64))

    def forward(self, x):
        around = checkpoint(self.inner, x, use_reentrant=False) if self.feature == "recomputation" else self.inner(x)
        return x + around

    def inner(self, x):
        h = self.down(torch.tanh(self.up(x)))
        if self.feature == "complex and 0-dimensional parameters":
            h = torch.view_as_real(torch.view_as_complex(h.unflatten(-1, (2, 2))) * self.turn).flatten(-2) * self.size
        return h


def blocks(feature, seed=0):
    torch.manual_seed(seed)
    made = [Block(feature), Block(feature)]
    return [torch.compile(each, backend="eager") for each in made] if feature == "torch.compile" else made


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def mean_square(y, whole_rows):
    return y.float().square().sum() / (whole_rows * WIDTH)


class Alone:
    """One process."""

    def __init__(self, comm, feature, seed=0):
        self.comm, self.feature = comm, feature
        self.build(seed)
        self.optimizer = sgd(list(self.module.parameters()))

    def build(self, seed):
        self.module = nn.Sequential(*blocks(self.feature, seed))

    def cast(self):
        return torch.autocast("cpu", torch.bfloat16) if self.feature == "autocast" else nullcontext()

    def zero_grad(self):
        self.optimizer.zero_grad()

    def backward(self, x, factor, last):
        with self.cast():
            loss = mean_square(self.module(x), len(x))
        (loss * factor).backward()

    def gradients(self):
        return [each.grad for each in self.module.parameters() if each.grad is not None]

    def unscale(self, scale):
        return unscale(self.gradients(), scale)

    def clip(self, most):
        nn.utils.clip_grad_norm_(self.module.parameters(), most)

    def step(self):
        self.optimizer.step()

    def save(self, checkpoints):
        checkpoints.save(1, {"model": self.module.state_dict(), "optimizer": self.optimizer.state_dict()})
        if self.comm is not None:
            self.comm.barrier()

    def load(self, checkpoints):
        state = checkpoints.load(1)
        self.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])

    def weights(self):
        return [each.detach().clone() for each in self.module.parameters()]

    def of_whole(self, whole):
        """This rank's part of the weights of one process."""
        return whole


class Copies(Alone):
    """DataParallel: a part of the rows for each rank."""

    def build(self, seed):
        super().build(seed)
        more = {"all_reduce": CompressedAllReduce(TopK(1.0))} if self.feature == "compression" else {}
        self.wrapped = DataParallel(self.comm, self.module, **more)

    def backward(self, x, factor, last):
        mine = x.chunk(self.comm.world_size)[self.comm.rank]
        with nullcontext() if last else self.wrapped.no_sync():
            with self.cast():
                loss = mean_square(self.wrapped(mine), len(mine))
            (loss * factor).backward()


class Zero(Alone):
    """ZeRO: the same, and a shard of the optimizer's state for each."""

    stage = 1

    def __init__(self, comm, feature, seed=0):
        self.comm, self.feature = comm, feature
        self.build(seed)
        self.sharded = ZERO_STAGES[self.stage](comm, self.module, sgd)

    def zero_grad(self):
        self.sharded.zero_grad()

    def backward(self, x, factor, last):
        super().backward(x.chunk(self.comm.world_size)[self.comm.rank], factor, last)

    def unscale(self, scale):
        self.sharded.reduce_gradients()
        return unscale([unit.shard.grad for unit in self.sharded.units], scale)

    def clip(self, most):
        self.sharded.clip_grad_norm_(most)

    def step(self):
        self.sharded.step()

    def save(self, checkpoints):
        save_zero(checkpoints, self.comm, 1, self.sharded)

    def load(self, checkpoints):
        load_zero(checkpoints, self.comm, 1, self.sharded)

    def weights(self):
        with self.sharded.whole():
            return super().weights()


class Zero2(Zero):
    stage = 2


class Zero3(Zero):
    stage = 3


class Parts(Alone):
    """Other parameters on each rank: the norm is one over all."""

    def clip(self, most):
        clip_parts_(self.module.parameters(), most)


class Pipeline(Parts):
    """A stage for each rank; its micro-batches are the rows in halves."""

    def build(self, seed):
        self.module = blocks(self.feature if self.feature != "recomputation" else "", seed)[self.comm.rank]

    def backward(self, x, factor, last):
        with self.cast():
            run_schedule(
                self.comm,
                one_forward_one_backward(2, 2),
                {self.comm.rank: self.module},
                list(x.chunk(2)),
                lambda stage, number: (len(x) // 2, WIDTH),
                lambda y, number: mean_square(y, len(x)) * factor,
                recompute=self.feature == "recomputation",
            )

    def of_whole(self, whole):
        return list(torch.utils._pytree.tree_leaves(whole))[self.comm.rank * len(whole) // 2 :][: len(whole) // 2]


class TensorParallel(Parts):
    """Half of each layer for each rank."""

    def build(self, seed):
        whole = [getattr(each, "_orig_mod", each) for each in blocks(self.feature, seed)]
        for block in whole:
            block.up, block.down = ColumnParallelLinear(self.comm, block.up), RowParallelLinear(self.comm, block.down)
        if self.feature == "torch.compile":
            whole = [torch.compile(each, backend="eager") for each in whole]
        self.module = nn.Sequential(*whole)

    def of_whole(self, whole):
        half = lambda each, dim: each.chunk(2, dim)[self.comm.rank]  # noqa: E731
        cut = {"up.weight": 0, "up.bias": 0, "down.weight": 1}
        names = [".".join(name.split(".")[-2:]) for name, _ in self.module.named_parameters()]
        named = dict(zip([name for name, _ in Alone(None, self.feature).module.named_parameters()], whole, strict=True))
        found = [named[name] for name, _ in self.module.named_parameters()]
        return [half(each, cut[name]) if name in cut else each for name, each in zip(names, found, strict=True)]


class OneMixture(Alone):
    """A mixture of two experts on one process."""

    def build(self, seed):
        experts = nn.ModuleList(blocks(self.feature, seed))
        self.module = nn.ModuleDict({"experts": experts, "router": nn.Linear(WIDTH, 2)})

    def backward(self, x, factor, last):
        with self.cast():
            loss = mean_square(mixture_on_one_process(self.module.router, self.module.experts, x, len(x)), len(x))
        (loss * factor).backward()


class Experts(OneMixture):
    """An expert for each rank, and a part of the rows."""

    clip = Parts.clip

    def build(self, seed):
        super().build(seed)
        self.mixture = ExpertParallel(self.comm, self.module.router, self.module.experts, ROWS)
        self.module = nn.ModuleDict({"experts": self.mixture.experts, "router": self.mixture.router})

    def backward(self, x, factor, last):
        mine = x.chunk(self.comm.world_size)[self.comm.rank]
        with self.cast():
            loss = mean_square(self.mixture(mine), len(x))
        (loss * factor).backward()
        if last:
            for parameter in self.mixture.router.parameters():
                ring_all_reduce(self.comm, parameter.grad)

    def of_whole(self, whole):
        each = (len(whole) - 2) // 2
        return [*whole[self.comm.rank * each : (self.comm.rank + 1) * each], *whole[-2:]]
