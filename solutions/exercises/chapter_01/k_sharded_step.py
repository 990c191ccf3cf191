"""Exercise 01k: a fully sharded step with one layer fetched ahead. Judged by sums, and by the clock of the wire."""

import inspect
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import torch

from course_lib.comm.network import Network
from course_lib.comm.trace import Message, Trace
from course_lib.grading import rules
from course_lib.grading.exercise import Case, Rule, whole_numbers
from course_lib.grading.exercises.chapter_01.shared import FAILURES, words_of
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.exercises.counted import standing_in

# sizes between the layers (of two layers no rank's chunks are equally long), examples of each rank, changed messages
SHAPES = (
    ((3, 4, 2, 3), (2,), 0),
    ((3, 5, 2, 4), (3, 0), 0),
    ((4, 5, 3, 4, 2), (2, 1, 3), 1),
    ((3, 5, 7, 3, 2), (1, 2, 1, 3), 1),
)
ROUNDING_S = 1e-9


def sharded_layers(rng: np.random.Generator) -> Iterator[Case]:
    """Layers of whole numbers, and the milliseconds that each takes; ½ |output - target|² as the loss."""
    for sizes, counts, perturb in SHAPES:
        world_size, shapes = len(counts), list(pairwise(sizes))
        rows = [whole_numbers(rng, a * b, torch.float64, most=9) for a, b in shapes]
        seconds = [float(rng.integers(4, 12)) * 1e-3 for _ in shapes]
        inputs = []
        for rank, count in enumerate(counts):
            shards = [row.tensor_split(world_size)[rank].clone() for row in rows]
            x, target = (
                whole_numbers(rng, count * n, torch.float64, most=9).reshape(count, n) for n in sizes[:: len(shapes)]
            )
            inputs.append((shards, shapes, seconds, x, target))
        label = f"world_size {world_size}, layers of {words_of(tuple(len(row) for row in rows))} weights"
        yield Case(world_size, inputs, _gradients(rows, inputs), perturb, label, {"seconds": seconds})


def _gradients(rows: list, inputs: list) -> list:
    """By autograd on the joined batch: of each rank's input, and its shard of each layer's weights."""
    weights = [row.view(shape).requires_grad_() for row, shape in zip(rows, inputs[0][1], strict=True)]
    leaves = [x.clone().requires_grad_() for _, _, _, x, _ in inputs]
    output = torch.cat(leaves)
    for weight in weights:
        output = output @ weight
    loss = (output - torch.cat([target for *_, target in inputs])).square().sum() / 2
    gradients = torch.autograd.grad(loss, [*leaves, *weights])
    chunks = [each.flatten().tensor_split(len(leaves)) for each in gradients[len(leaves) :]]
    return [[x, *(chunk[rank] for chunk in chunks)] for rank, x in enumerate(gradients[: len(leaves)])]


class Units:
    """The layers of a model, a shard of each on every rank. Layer k is in memory from gather(k) to free(k)."""

    def __init__(self, comm, shards, shapes, seconds):
        self.comm, self.shards, self.shapes, self.seconds = comm, shards, shapes, seconds
        self.whole, self.gathers, self.sums = {}, {}, {}

    def gather(self, k):
        """Start to fetch layer k; returns at once. What is on its way counts: two layers fit into memory."""
        if not 0 <= k < len(self.shards):
            raise RuntimeError(f"there is no layer {k} to gather, they are 0 to {len(self.shards) - 1}")
        if k in self.whole:
            raise RuntimeError(f"layer {k} was gathered, and nobody has freed it since")
        if len(self.whole) == 2:
            raise RuntimeError(f"layer {k} would be the third in memory, beside {' and '.join(map(str, self.whole))}")
        rows, columns = self.shapes[k]
        self.whole[k] = torch.empty(rows * columns, dtype=torch.float64)
        chunks = self.whole[k].tensor_split(self.comm.world_size)
        chunks[self.comm.rank].copy_(self.shards[k])
        self.gathers[k] = self.exchange([self.shards[k]] * self.comm.world_size, chunks)

    def exchange(self, outgoing, incoming):
        """Start to send outgoing[r] to each other rank r and to receive incoming[r] from it; the works."""
        works = []
        for rank in range(self.comm.world_size):
            if rank != self.comm.rank:
                works += [self.comm.irecv(incoming[rank], rank), self.comm.isend(outgoing[rank], rank)]
        return works

    def wait(self, k):
        """Return when all of layer k is there."""
        if k not in self.whole:
            raise RuntimeError(f"wait({k}) waits for ever: layer {k} is not in memory, call gather({k}) before")
        for work in self.gathers.pop(k, ()):
            work.wait()

    def weights(self, k):
        if k not in self.whole or k in self.gathers:
            raise RuntimeError(f"layer {k} is not whole: it needs gather({k}) and wait({k}), and no free({k}) yet")
        return self.whole[k].view(self.shapes[k])

    def forward(self, k, x):
        """The layer's output, [n, in] -> [n, out]. Takes seconds[k]."""
        weights = self.weights(k)
        self.comm.compute(self.seconds[k], label=f"forward {k}")
        return x @ weights

    def backward(self, k, x, upstream):
        """The gradients of the layer's input x and of its weights, from that of its output. Takes 2 * seconds[k]."""
        weights = self.weights(k)
        self.comm.compute(2 * self.seconds[k], label=f"backward {k}")
        return upstream @ weights.T, x.T @ upstream

    def free(self, k):
        """Forget layer k; this rank's shard of it stays."""
        if k not in self.whole:
            raise RuntimeError(f"free({k}) frees what is not in memory: it was freed before, or never gathered")
        del self.whole[k]

    def reduce(self, k, gradient):
        """Start to give each rank its shard of the sum of all ranks' gradients of layer k; returns at once."""
        mine = gradient.flatten().tensor_split(self.comm.world_size)
        boxes = [torch.empty_like(mine[self.comm.rank]) for _ in mine]
        boxes[self.comm.rank].copy_(mine[self.comm.rank])
        self.sums[k] = boxes, self.exchange(mine, boxes)

    def gradients(self):
        """Wait for all that reduce has started: a list with this rank's shard of each layer's sum."""
        if self.whole or len(self.sums) < len(self.shards):
            left = f"layers {list(self.whole)} are still in memory, of {list(self.sums)} gradients were handed out"
            raise RuntimeError(f"the step is not at its end: {left}")
        for _, works in self.sums.values():
            for work in works:
                work.wait()
        return [sum(self.sums[k][0]) for k in range(len(self.shards))]


# What the wire says. Of each layer, two ranks exchange its gathers first, and the parts of its gradient at last.

Stretch = tuple[float, float]  # posted, and arrived


def _seen(case: Case, trace: Trace, rank: int) -> list[list[Stretch]] | None:
    """Of each layer what this rank exchanged with the others, in order; None if that is not what Units sends."""
    others, size = [r for r in range(case.world_size) if r != rank], case.world_size
    mine: dict[tuple[int, int], list[Message]] = {}
    chunks = [[8 * len(c) for c in torch.empty(a * b).tensor_split(size)] for a, b in case.inputs[0][1]]
    for message in trace.messages:
        if message.message_bytes and rank in (message.src, message.dst):
            fits = [
                k for k, sizes in enumerate(chunks) if message.message_bytes in (sizes[message.src], sizes[message.dst])
            ]
            other = message.dst if message.src == rank else message.src
            mine.setdefault((fits[0] if fits else -1, other), []).append(message)
    seen = []
    for k in range(len(chunks)):
        rounds = [sorted(mine.get((k, other), []), key=lambda m: _posted(m, rank)) for other in others]
        if len({len(each) for each in rounds}) != 1 or len(rounds[0]) not in (4, 6) or any(k < 0 for k, _ in mine):
            return None
        steps = [[m for each in rounds for m in each[i : i + 2]] for i in range(0, len(rounds[0]), 2)]
        seen.append([(min(_posted(m, rank) for m in step), max(m.end_s for m in step)) for step in steps])
    return seen


def _posted(message: Message, rank: int) -> float:
    return message.send_posted_s if message.src == rank else message.recv_posted_s


def fetched_ahead(case: Case, trace: Trace) -> str | None:
    """When a layer begins to compute, the one that computes next is there or on its way."""
    layers = len(case.inputs[0][1])
    order = [*range(layers), *reversed(range(layers))]
    for rank in range(case.world_size if case.world_size > 1 else 0):
        seen = _seen(case, trace, rank)
        if seen is None:
            return "the messages are not those of units.gather and units.reduce, one or two gathers and a sum of each layer"
        gathers = [seen[k][0 if step < layers else -2] for step, k in enumerate(order)]
        ends_s = 0.0
        for step, ((k, then), gather, following) in enumerate(zip(pairwise(order), gathers, gathers[1:], strict=False)):
            begins_s = max(ends_s, gather[1])
            ends_s = begins_s + case.about["seconds"][k] * (1 if step < layers else 2)
            if following[0] > begins_s + ROUNDING_S:
                asked = f"rank {rank} began to gather layer {then} at {_ms(following[0])}"
                return asked + _late(step, layers, k, begins_s, abs(following[0] - ends_s) < ROUNDING_S)
    return None


def _late(step: int, layers: int, k: int, begins_s: float, idle: bool) -> str:
    name = "forward" if step < layers else "backward"
    if step == layers - 1:
        return f": layer {k} is the last and the first of the backward pass. Keep it, nothing can hide this gather"
    if idle:
        return f", and {name}({k}) had begun at {_ms(begins_s)}: nothing was on its way while it computed"
    return (
        f"; {name}({k}) could have begun at {_ms(begins_s)}, its own layer was there by then. Something waits for a "
        "layer in the moment in which it is asked for: wait for it when it is to compute"
    )


def gradients_leave_early(case: Case, trace: Trace) -> str | None:
    """A gradient is on its way before the next layer's backward pass, whenever that begins."""
    for rank in range(case.world_size if case.world_size > 1 else 0):
        sums = [each[-1][0] for each in _seen(case, trace, rank) or []]
        for k in range(len(sums) - 1, 0, -1):
            if sums[k] > sums[k - 1] - 2 * case.about["seconds"][k - 1] + ROUNDING_S:
                return (
                    f"rank {rank} began to reduce the gradient of layer {k} at {_ms(sums[k])}, and that of layer "
                    f"{k - 1} at {_ms(sums[k - 1])}: so backward({k - 1}) ran before the first had left. Start to "
                    "reduce a gradient as soon as it is there"
                )
    return None


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms"


MISTAKES = r"""
[3] ... nothing was on its way while it computed
    if k < last:\n            units.gather(k + 1)\n -> \n
    x = units.forward(k, x)\n -> x = units.forward(k, x)\n        if k < last:\n            units.gather(k + 1)\n
    if k > 0:\n            units.gather(k - 1)\n -> \n
    units.reduce(k, gradient) -> units.reduce(k, gradient)\n        if k > 0:\n            units.gather(k - 1)
[3] ... Something waits for a layer in the moment in which it is asked for
    units.gather(k + 1) -> units.gather(k + 1)\n            units.wait(k + 1)
    units.gather(k - 1) -> units.gather(k - 1)\n            units.wait(k - 1)
[3] ... is the last and the first of the backward pass
    units.forward(k, x)\n        if k < last:\n            units.free(k) -> units.forward(k, x)\n        units.free(k)
    upstream = x - target -> units.gather(last)\n    upstream = x - target
[4] ... ran before the first had left
    last, inputs = -> late, last, inputs = {},
    units.reduce(k, gradient) -> late[k] = gradient
    return [upstream -> for k in late:\n        units.reduce(k, late[k])\n    return [upstream
... frees what is not in memory
    units.reduce(k, gradient) -> units.free(k)\n        units.reduce(k, gradient)
... would be the third in memory
    units.forward(k, x)\n        if k < last:\n            units.free(k) -> units.forward(k, x)
... there is no layer 3 to gather
    if k < last:\n            units.gather(k + 1) -> units.gather(k + 1)
... there is no layer -1 to gather
    if k > 0:\n            units.gather(k - 1) -> units.gather(k - 1)
... is not whole: it needs gather
    units.wait(k) -> pass
... the step is not at its end
    units.free(k)\n        units.reduce(k, gradient) -> units.reduce(k, gradient)\n        if k:\n            units.free(k)
... was gathered, and nobody has freed it since
    upstream = x - target -> units.gather(last)\n    upstream = x - target
has gradients with the wrong sign: that of ½ (output - target)² is output - target
    upstream = x - target -> upstream = target - x
has the gradient of its input right, and not those of the weights: a layer's backward pass needs the layer's input, and was given its output
    inputs.append(x)\n        x = units.forward(k, x) -> x = units.forward(k, x)\n        inputs.append(x)
has its gradients in the other order: layer 0 comes first
    *units.gradients()] -> *reversed(units.gradients())]
has the mean over all ranks; asked for is the sum
    *units.gradients()] -> *(each / comm.world_size for each in units.gradients())]
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=sharded_layers,
    clock=True,
    network=Network(latency_s=1e-3, bytes_per_s=1e6),
    dtypes=(torch.float64,),
    rules=(
        rules.max_messages(
            lambda case: 3 * len(case.inputs[0][1]) * case.world_size * (case.world_size - 1),
            "of each layer two gathers and one sum",
        ),
        Rule(fetched_ahead, costs=2),
        Rule(gradients_leave_early, costs=1),
    ),
    mistakes=MISTAKES,
    before=FAILURES,
    whole_multiples=False,
    stand_ins=standing_in("import torch\n" + inspect.getsource(Units), "Units"),
    hints="""
First write it without looking ahead: gather(k), wait(k), forward(k), free(k) for each layer; then the same with backward and reduce, from the last to the first.
Which layer is in memory at the end of the forward pass, and which does the backward pass begin with? Do not free that one.
Now move each gather up: when layer k is there and before it computes, gather the next one, if there is a next one. Its wait stays where it was.
""",
)
