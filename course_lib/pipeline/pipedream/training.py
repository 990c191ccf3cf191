"""Asynchronous pipeline training with weight stashing, by a schedule; and on the digits, with many seeds at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, islice, pairwise
from typing import NamedTuple

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator, Report, simulate
from course_lib.pipeline.channels import boxes_of, wire_of
from course_lib.pipeline.executor import StageInput
from course_lib.pipeline.pipedream.asynchronous import AsynchronousSchedule, asynchronous_1f1b, last_uses, versions_used
from course_lib.pipeline.schedule import Operation, check_schedule
from course_lib.tasks import Digits, digit_batches, load_digits

Weights = dict[str, torch.Tensor]
Loss = Callable[[torch.Tensor, int], torch.Tensor]  # (output of the last stage, number of the batch) -> loss


class AsynchronousRank:
    """One rank of a pipeline that is never drained: its stage, and the versions of the stage's weights.

    Args:
        module: this rank's stage; takes and gives one tensor. At the end it has the newest weights.
        inputs: the batches, of which the first stage's ranks use the contents and the others the number.
        shape_of: (stage, batch) -> shape of what that stage gives.
        loss: what the last stage's ranks make of their output.
        rule: one of `WEIGHT_RULES`.
        observe: is told each batch's gradients, before they are averaged over replicas, and all versions by number.

    Attributes:
        losses: of the batches that this rank finished, by number.
        peak_weight_bytes: the most that its versions took, counted after each operation.

    Raises:
        ValueError: if the schedule is for other ranks or batches than are given, or there is no such rule.
    """

    def __init__(
        self,
        comm: Communicator,
        schedule: AsynchronousSchedule,
        module: nn.Module,
        inputs: Sequence[torch.Tensor],
        shape_of: Callable[[int, int], tuple[int, ...]],
        loss: Loss,
        *,
        learning_rate: float,
        rule: str = "stashing",
        observe: Callable[[int, list[torch.Tensor], dict[int, Weights]], None] | None = None,
    ) -> None:
        check_schedule(schedule)
        if (schedule.world_size, schedule.micro_batches) != (comm.world_size, len(inputs)):
            wanted = f"{schedule.world_size} ranks and {schedule.micro_batches} batches"
            raise ValueError(f"the schedule is for {wanted}, got {comm.world_size} and {len(inputs)}")
        self.comm = comm
        self.schedule = schedule
        self.module = module
        self.inputs = inputs
        self.loss_of = loss
        self.learning_rate = learning_rate
        self.rule = rule
        self.observe = observe
        self.stage = schedule.stage_of(comm.rank)
        self.replicas = comm.group(schedule.ranks_of(self.stage))
        self.losses: dict[int, float] = {}
        trained = {name: weight for name, weight in module.named_parameters() if weight.requires_grad}
        self.versions = {0: {name: _leaf(weight) for name, weight in trained.items()}}
        self.newest = 0
        self.peak_weight_bytes = self._weight_bytes()
        self._used = versions_used(schedule, rule)
        self._last_use = last_uses(schedule, rule, comm.rank)
        self._held: dict[int, tuple[StageInput | None, torch.Tensor]] = {}  # batch -> input, output
        dtype, device = wire_of([module], inputs)
        shape_of_input = lambda op: shape_of(op.stage - (op.kind == "F"), op.micro_batch)  # noqa: E731
        self._inbox, self._outbox = boxes_of(comm, schedule, shape_of_input, dtype, device)

    def run(self) -> None:
        """Train on all batches, once.

        Raises:
            RuntimeError: the second time: versions are counted by this schedule's batches.
        """
        if self.newest:
            raise RuntimeError(f"this rank has trained on its {self.newest} batches: make another one to go on")
        for number, operation in enumerate(self.schedule.ranks[self.comm.rank]):
            with self.comm.span(str(operation)):
                arrived = self._inbox.take(operation)
                self._outbox.let_go(operation)
                (self._forward if operation.kind == "F" else self._backward)(operation, arrived)
            self._forget(number)
        self._outbox.wait()
        parameters = dict(self.module.named_parameters())
        for name, weight in self.versions[self.newest].items():
            parameters[name].data.copy_(weight)

    def _forward(self, operation: Operation, arrived: torch.Tensor | None) -> None:
        _, stage, batch = operation
        entry = None if arrived is None else StageInput(arrived)
        x = self.inputs[batch] if entry is None else entry.enter()
        y = functional_call(self.module, self.versions[self._used[stage, batch].forward], (x,))
        if stage == self.schedule.stages - 1:
            y = self.loss_of(y, batch)
            self.losses[batch] = y.item()
        self._held[batch] = entry, y
        self._outbox.send(operation, y.detach())

    def _backward(self, operation: Operation, y_grad: torch.Tensor | None) -> None:
        """Gradients at the version of the forward pass or, with "newest", at what now stands in its place."""
        _, stage, batch = operation
        entry, y = self._held.pop(batch)
        weights = list(self.versions[self._used[stage, batch].backward].values())
        wanted = weights if entry is None else [*weights, entry.door]
        if y.requires_grad:  # zeros for what has no part in it
            gradients = list(torch.autograd.grad(y, wanted, y_grad, materialize_grads=True)) if wanted else []
        else:
            gradients = [torch.zeros_like(each) for each in wanted]
        if entry is not None:
            gradients.pop()  # that of the door
            self._outbox.send(operation, entry.take_gradient())
        if self.observe is not None:
            self.observe(batch, gradients, self.versions)
        self._step(gradients)

    def _step(self, gradients: list[torch.Tensor]) -> None:
        """A step of stochastic gradient descent from the newest weights, on the average over the replicas."""
        if self.replicas.world_size > 1 and gradients:
            flat = torch.cat([gradient.flatten() for gradient in gradients])
            ring_all_reduce(self.replicas, flat)
            parts = (flat / self.replicas.world_size).split([gradient.numel() for gradient in gradients])
            gradients = [part.view_as(gradient) for part, gradient in zip(parts, gradients, strict=True)]
        before, self.newest = self.newest, self.newest + self.replicas.world_size
        if self.rule == "newest":  # in place, behind autograd's back: what it saved of the weights changes too
            self.versions[self.newest] = self.versions.pop(before)
            for weight, gradient in zip(self.versions[self.newest].values(), gradients, strict=True):
                weight.data.sub_(self.learning_rate * gradient)
        else:
            named = zip(self.versions[before].items(), gradients, strict=True)
            self.versions[self.newest] = {
                name: _leaf(weight - self.learning_rate * gradient) for (name, weight), gradient in named
            }

    def _forget(self, number: int) -> None:
        """Keep the newest version and those that an operation behind this one needs."""
        for version in [each for each in self.versions if each != self.newest]:
            if self._last_use.get(version, -1) <= number:
                del self.versions[version]
        self.peak_weight_bytes = max(self.peak_weight_bytes, self._weight_bytes())

    def _weight_bytes(self) -> int:
        """What the versions take; memory counts once."""
        held = (weight.untyped_storage() for weights in self.versions.values() for weight in weights.values())
        return sum({storage.data_ptr(): storage.nbytes() for storage in held}.values())


def train_asynchronously(
    comm: Communicator, schedule: AsynchronousSchedule, *args: object, **kwargs: object
) -> AsynchronousRank:
    """Train by a schedule; takes what `AsynchronousRank` takes, and gives it with its losses and its bytes."""
    rank = AsynchronousRank(comm, schedule, *args, **kwargs)  # type: ignore[arg-type]
    rank.run()
    return rank


def _leaf(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone().requires_grad_()


WIDTH, BATCH_SIZE = 32, 32


class DigitsRun(NamedTuple):
    """How a training ended.

    Attributes:
        test_accuracies: of each seed's network.
        losses: of each batch, averaged over seeds.
        peak_weight_bytes: for each rank, what the versions of one seed's weights took at most.
    """

    test_accuracies: list[float]
    losses: list[float]
    peak_weight_bytes: list[int]


class SeedsLinear(nn.Module):
    """The same fully connected layer of several networks side by side, each drawn from its own seed.

    Weights are drawn for a ReLU behind them, biases are 0.

    Source: He et al., "Delving deep into rectifiers", arXiv 1502.01852, section 2.2.
    """

    def __init__(self, inputs: int, outputs: int, seeds: int, number: int) -> None:
        super().__init__()
        draws = [torch.Generator().manual_seed(1000 * number + seed) for seed in range(seeds)]
        weights = [torch.randn(inputs, outputs, generator=draw) * (2 / inputs) ** 0.5 for draw in draws]
        self.weight = nn.Parameter(torch.stack(weights))
        self.bias = nn.Parameter(torch.zeros(seeds, 1, outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [seeds, b, inputs] -> [seeds, b, outputs]
        return torch.baddbmm(self.bias, x, self.weight)


def digit_stages(stages: int, layers: int = 4, seeds: int = 1) -> list[nn.Sequential]:
    """Classifiers of digits with so many fully connected layers, cut into stages; the same however they are cut.

    Raises:
        ValueError: unless every stage has a layer.

    >>> [[tuple(layer.weight.shape[1:]) for layer in stage[::2]] for stage in digit_stages(2, layers=3)]
    [[(64, 32)], [(32, 32), (32, 10)]]
    """
    if not 1 <= stages <= layers:
        raise ValueError(f"every stage must have a layer, got {stages} stages for {layers} layers")
    widths = [64, *[WIDTH] * (layers - 1), 10]
    linear = [SeedsLinear(before, behind, seeds, number) for number, (before, behind) in enumerate(pairwise(widths))]
    parts = [[layer, nn.ReLU()] for layer in linear[:-1]] + [[linear[-1]]]
    cuts = [stage * layers // stages for stage in range(stages + 1)]
    return [nn.Sequential(*chain(*parts[first:last])) for first, last in pairwise(cuts)]


def train_digit_stage(
    comm: Communicator,
    digits: Digits,
    replicas: Sequence[int],
    rule: str,
    layers: int,
    batches: int,
    learning_rate: float,
    seeds: int,
) -> tuple[nn.Module, dict[int, float], int]:
    """One rank's part of the training: its stage, the losses that it saw, the bytes that it kept."""
    schedule = asynchronous_1f1b(replicas, batches)
    drawn = [list(islice(digit_batches(BATCH_SIZE, seed=seed, digits=digits), batches)) for seed in range(seeds)]
    images = [torch.stack([inputs for inputs, _ in each]) for each in zip(*drawn, strict=True)]
    labels = [torch.cat([labels for _, labels in each]) for each in zip(*drawn, strict=True)]

    def loss(scored: torch.Tensor, number: int) -> torch.Tensor:
        """The sum over seeds: each network gets its own gradient."""
        return functional.cross_entropy(scored.flatten(0, 1), labels[number], reduction="sum") / BATCH_SIZE

    rank = train_asynchronously(
        comm,
        schedule,
        digit_stages(schedule.stages, layers, seeds)[schedule.stage_of(comm.rank)].to(digits.train_inputs.device),
        images,
        lambda stage, number: (seeds, BATCH_SIZE, WIDTH),
        loss,
        learning_rate=learning_rate,
        rule=rule,
    )
    return rank.module, rank.losses, rank.peak_weight_bytes


def train_digits(
    replicas: Sequence[int] = (1, 1, 1, 1),
    rule: str = "stashing",
    *,
    layers: int = 4,
    batches: int = 300,
    learning_rate: float = 0.2,
    seeds: int = 10,
    executor: Callable[..., Report] = simulate,
) -> DigitsRun:
    """Train on the digits, simulated or on real processes (`executor=run`), and test what all stages are together.

    With replicas (1,) it is the same network trained by one process, where no weights are late.
    """
    digits = load_digits()
    arguments = digits, replicas, rule, layers, batches, learning_rate, seeds
    report = executor(train_digit_stage, sum(replicas), args=arguments)
    firsts = [sum(replicas[:stage]) for stage in range(len(replicas))]
    whole = nn.Sequential(*(report.results[first][0] for first in firsts))
    with torch.no_grad():
        chosen = whole(digits.test_inputs.expand(seeds, -1, -1)).argmax(-1)
    accuracies = (chosen == digits.test_labels).float().mean(1).tolist()
    losses = {batch: loss / seeds for _, seen, _ in report.results for batch, loss in seen.items()}
    return DigitsRun(accuracies, [losses[batch] for batch in range(batches)], [b // seeds for *_, b in report.results])
