"""Carries out any plan on real layers: holds values, stores backward passes, sends gradients back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

from course_lib.checkpointing.plan import Action, Graph, Plan, PlanError, check_plan
from course_lib.pipeline import HeldActivations
from course_lib.replay import Replay

Function = Callable[..., torch.Tensor]


class _Enter(torch.autograd.Function):
    """Where a value enters what is stored: it passes as it is, and its gradient goes to `take`."""

    @staticmethod
    def forward(ctx: Any, _: torch.Tensor, value: torch.Tensor, take: Callable[[torch.Tensor], None]) -> torch.Tensor:
        ctx.take = take
        return value.detach()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[None, None, None]:
        ctx.take(gradient)
        return None, None, None


def enter(value: torch.Tensor, take: Callable[[torch.Tensor], None]) -> torch.Tensor:
    """The value as an input of a backward pass that gives its gradient to `take`, and itself keeps nothing alive.

    (A leaf would do but for that: autograd holds leaves.)
    """
    return _Enter.apply(torch.empty(0, requires_grad=True), value, take)


def layers_of(model: nn.Sequential) -> dict[Hashable, nn.Module]:
    """The layers of a chain by node: the first is 1, since 0 is the input.

    >>> layers_of(nn.Sequential(nn.ReLU(), nn.Tanh()))
    {1: ReLU(), 2: Tanh()}
    """
    return dict(enumerate(model, 1))


class PlanRun:
    """One step by a plan: what it holds and stores right now.

    Args:
        graph: who takes whose value.
        functions: node -> what computes its value from those of its inputs.
        given: node -> value, for the nodes without inputs.
        loss: (value of the last node) -> loss.
        activations: counts what lives.
    """

    def __init__(
        self,
        graph: Graph,
        functions: Mapping[Hashable, Function],
        given: Mapping[Hashable, torch.Tensor],
        loss: Function,
        activations: HeldActivations | None = None,
    ) -> None:
        taken = {each for node in graph.values() for each in node.inputs}
        outputs = [node for node in graph if node not in taken]
        if len(outputs) != 1:
            raise PlanError(f"one node must give the output, whose value no other takes; got {outputs}")
        self.graph = graph
        self.functions = functions
        self.loss_of = loss
        self.output = outputs[0]
        self.activations = activations
        self.loss: torch.Tensor | None = None
        self.gradients: dict[Hashable, torch.Tensor] = {}
        self._values: dict[Hashable, tuple[torch.Tensor, object]] = {}  # the value, and what counts it
        self._on_host: dict[Hashable, tuple[torch.device, torch.Tensor]] = {}  # where it was, the copy
        self._stored: dict[Hashable, GradientEdge | None] = {}
        self._replays: dict[Hashable, Replay] = {}
        self._learns = {node: value.requires_grad for node, value in given.items()}
        for node, value in given.items():
            self._hold(node, value.detach())

    def do(self, action: Action) -> None:
        """Do one action."""
        getattr(self, f"_{action.kind}")(action.node)

    def _hold(self, node: Hashable, value: torch.Tensor) -> None:
        self._values[node] = value, self.activations.hold(value) if self.activations is not None else None

    def _run(self, node: Hashable) -> None:
        with torch.no_grad():
            self._hold(node, self._forward(node, [self._values[each][0] for each in self.graph[node].inputs]))

    def _store(self, node: Hashable) -> None:
        with torch.enable_grad(), self.activations.watch() if self.activations is not None else nullcontext():
            y = self._forward(node, [self._entered(each) for each in self.graph[node].inputs])
            self._stored[node] = get_gradient_edge(y) if y.requires_grad else None
        self._hold(node, y.detach())
        if node == self.output:
            self._begin_backward(y.detach())

    def _free(self, node: Hashable) -> None:
        del self._values[node]

    def _move(self, node: Hashable) -> None:
        value, _ = self._values.pop(node)
        self._on_host[node] = value.device, value.to("cpu", copy=True)

    def _fetch(self, node: Hashable) -> None:
        device, copy = self._on_host[node]
        self._hold(node, copy.to(device, copy=True))

    def _entered(self, node: Hashable) -> torch.Tensor:
        value = self._values[node][0]
        return enter(value, lambda gradient: self._add(node, gradient)) if self._learns[node] else value

    def _forward(self, node: Hashable, inputs: list[torch.Tensor]) -> torch.Tensor:
        """The node's value, as it was the first time."""
        function = self.functions[node]
        replay = self._replays.setdefault(node, Replay(function, inputs[0].device))
        versions = [x._version for x in inputs]
        with replay.run():
            y = function(*inputs)
        if versions != [x._version for x in inputs]:
            raise PlanError(f"{node}, {function}, changes its input in place, which others may need again")
        own = isinstance(function, nn.Module) and any(p.requires_grad for p in function.parameters())
        self._learns[node] = y.is_floating_point() and (own or any(self._learns[i] for i in self.graph[node].inputs))
        return y

    def _begin_backward(self, y: torch.Tensor) -> None:
        with torch.enable_grad():
            leaf = y.requires_grad_()
            loss = self.loss_of(leaf)
            self.gradients[self.output] = torch.autograd.grad(loss, leaf)[0]
        self.loss = loss.detach()

    def _add(self, node: Hashable, gradient: torch.Tensor) -> None:
        self.gradients[node] = self.gradients[node] + gradient if node in self.gradients else gradient

    def _back(self, node: Hashable) -> None:
        edge, gradient = self._stored.pop(node), self.gradients.pop(node, None)
        if edge is not None and gradient is not None:
            torch.autograd.backward(edge, gradient)


def run_plan(
    plan: Plan,
    graph: Graph,
    functions: Mapping[Hashable, Function],
    given: Mapping[Hashable, torch.Tensor],
    loss: Function,
    activations: HeldActivations | None = None,
) -> torch.Tensor:
    """The loss of one step by a plan; gradients add up in the parameters, and in given values that require them.

    They are those of plain autograd to the last bit. Random numbers are drawn as often as there, running statistics
    updated once.

    Args:
        loss: (value of the last node) -> loss; its own memory is not counted.
        activations: counts what lives; its peak is the plan's.

    Raises:
        PlanError: if the plan cannot be carried out, or a function changes its input in place.
    """
    check_plan(plan, graph)
    run = PlanRun(graph, functions, given, loss, activations)
    for action in plan:
        run.do(action)
    for node, value in given.items():
        if value.requires_grad and node in run.gradients:
            value.grad = run.gradients[node] if value.grad is None else value.grad + run.gradients[node]
    assert run.loss is not None  # check_plan has seen the output stored
    return run.loss
