"""Exercise 01d: gradients leave in the hook, while the backward pass goes on. Judged by a clock, in virtual time."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, combinations, permutations

import numpy as np
import torch

from course_lib.comm.network import Network
from course_lib.comm.trace import Message, Trace
from course_lib.grading import rules
from course_lib.grading.exercise import WIDE, Case, Outcome, Rule, whole_numbers
from course_lib.grading.exercises.chapter_01.shared import FAILURES, PERTURBED, words_of
from course_lib.grading.exercises.common import rank_exercise


def layers_becoming_ready(rng: np.random.Generator) -> Iterator[Case]:
    """Gradients of several layers, and the milliseconds that each takes in the backward pass of each rank."""
    sizes = ((5, 3), (20, 7, 12), (30, 64, 40), (90, 64, 110, 7))
    for number, lengths in enumerate(sizes):
        world_size = number + 1
        layers = [[whole_numbers(rng, length, most=WIDE) for length in lengths] for _ in range(world_size)]
        seconds = [[float(rng.integers(2, 9)) * 1e-3 for _ in lengths] for _ in range(world_size)]
        sums = [sum(each) for each in zip(*layers, strict=True)]
        ready = [list(accumulate(reversed(each)))[::-1] for each in seconds]
        about = {"lengths": lengths, "ready_s": ready}
        label = f"world_size {world_size}, layers of {words_of(lengths)} elements"
        yield Case(
            world_size,
            list(zip(layers, seconds, strict=True)),
            [sums] * world_size,
            int(number in PERTURBED),
            label,
            about,
        )


ROUNDING_S = 1e-9


def _messages(case: Case) -> int:
    """Each layer from each rank to each other one, and as many again for who cuts them in two."""
    return 2 * len(case.about["lengths"]) * case.world_size * (case.world_size - 1)


def not_before_it_exists(case: Case, trace: Trace) -> str | None:
    """No gradient leaves before the backward pass has made it."""
    for layer, message in _gradients(case, trace):
        ready_s = case.about["ready_s"][message.src][layer]
        if message.send_posted_s < ready_s - ROUNDING_S:
            return (
                f"rank {message.src} sent the gradient of layer {layer} at {_ms(message.send_posted_s)}, and the "
                f"backward pass makes it at {_ms(ready_s)}: nothing can be sent before it exists. Send in the hook"
            )
    return None


def leaves_when_ready(case: Case, trace: Trace) -> str | None:
    """Each gradient sets out to each other rank in the moment in which it is ready."""
    for src, dst, messages in _between(case, trace):
        if not _as_layers(case, messages):
            sizes, wanted = sorted(m.message_bytes for m in messages), sorted(n * 4 for n in case.about["lengths"])
            fewer = ": a gradient that waits for others to travel with leaves late" * (len(sizes) < len(wanted))
            return (
                f"rank {src} sent messages of {sizes} bytes to rank {dst}; asked for is one message for each layer, of "
                f"{wanted} bytes, or two that make it up{fewer}"
            )
    late = [(layer, m) for layer, m in _gradients(case, trace) if _late_s(case, layer, m) > ROUNDING_S]
    if not late:
        return None
    layer, message = min(late, key=lambda pair: pair[1].send_posted_s)
    ready = case.about["ready_s"][message.src]
    began = f"rank {message.src} began to send the gradient of layer {layer} at {_ms(message.send_posted_s)}"
    first_s = min(m.send_posted_s for _, m in _gradients(case, trace) if m.src == message.src)
    if first_s > ready[0] - ROUNDING_S:
        return (
            f"{began}, and that was its first; the backward pass ended at {_ms(ready[0])}, and the first gradient was "
            f"ready at {_ms(ready[-1])}: nothing overlaps. Start to send in the hook"
        )
    return (
        f"{began}; with nothing in its way the backward pass has it ready at {_ms(ready[layer])}. Something in the "
        "hook waits, and the next layer waits with it: start there, wait after the backward pass. (The given "
        "all_reduce waits; and what comm.start runs waits for what it ran before)"
    )


def received_in_time(case: Case, trace: Trace) -> str | None:
    """A message starts once both sides are ready for it, so the receive must be posted by then, too."""
    for layer, message in _gradients(case, trace):
        ready_s = case.about["ready_s"][message.dst][layer]
        if message.recv_posted_s > ready_s + ROUNDING_S and leaves_when_ready(case, trace) is None:
            return (
                f"rank {message.dst} posted its receive for the gradient of layer {layer} at "
                f"{_ms(message.recv_posted_s)}, not at {_ms(ready_s)}: a message sets out when both sides are ready "
                "for it, so call irecv in the hook, too (or before the backward pass)"
            )
    return None


def _between(case: Case, trace: Trace) -> Iterator[tuple[int, int, list[Message]]]:
    """(sender, receiver, what it sent that carries something) of each two ranks, in the order of setting out."""
    for src, dst in permutations(range(case.world_size), 2):
        sent = [m for m in trace.messages if (m.src, m.dst) == (src, dst) and m.message_bytes]
        yield src, dst, sorted(sent, key=lambda m: m.send_posted_s)


def _gradients(case: Case, trace: Trace) -> Iterator[tuple[int, Message]]:
    """The messages that carry a layer or a part of it, each with the layer's number."""
    for _, _, messages in _between(case, trace):
        ways = _as_layers(case, messages)
        if ways:
            yield from min(ways, key=lambda way: sum(abs(_late_s(case, *each)) for each in way))


def _as_layers(case: Case, messages: Sequence[Message], layer: int = 0) -> list[list[tuple[int, Message]]]:
    """All ways to take these messages for the layers from this one on, each in one piece or in two."""
    layers = len(case.about["lengths"]) - layer
    if not layers <= len(messages) <= 2 * layers:
        return []
    if not layers:
        return [[]]
    ways, size = [], case.about["lengths"][layer] * 4
    for mine in (*combinations(messages, 1), *combinations(messages, 2)):
        if sum(message.message_bytes for message in mine) == size:
            left = [message for message in messages if message not in mine]
            ways += [[*((layer, each) for each in mine), *way] for way in _as_layers(case, left, layer + 1)]
    return ways


def _late_s(case: Case, layer: int, message: Message) -> float:
    return message.send_posted_s - case.about["ready_s"][message.src][layer]


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms"


def wrong_layers(case: Case, outcome: Outcome) -> str | None:
    """Sums that are incomplete, layer by layer."""
    if outcome.failure is not None or case.world_size == 1:
        return None
    off = [
        (rank, layer)
        for rank, (value, right) in enumerate(zip(outcome.values, case.expected, strict=True))
        for layer in range(len(right))
        if not torch.equal(value[layer], right[layer])
    ]
    own = all(torch.equal(outcome.values[rank][layer], case.inputs[rank][0][layer]) for rank, layer in off)
    everything = len(off) == case.world_size * len(case.about["lengths"])
    if own and everything:
        return (
            f"{len(outcome.trace.messages)} messages crossed the wire, and every rank still holds its own gradients. "
            "What irecv brings is there after its wait(), not before: keep the buffers, wait, and only then add. And "
            "add in place, to the tensors of `gradients` themselves: what you return is not looked at"
        )
    if own:
        rank, layer = off[0]
        return f"rank {rank} never added anything to the gradient of layer {layer}; the other layers are right"
    rank, layer = off[0]
    right, came = case.expected[rank][layer], outcome.values[rank][layer]
    if torch.equal(came * case.world_size, right):
        return f"rank {rank} holds the mean in layer {layer}; the sum was asked for, so leave out the division"
    return None


MISTAKES = r"""
[1] ... nothing overlaps
    backward(comm, gradients, seconds, on_gradient_ready) -> backward(comm, gradients, seconds, lambda layer, gradient: None)\n    for layer, gradient in enumerate(gradients):\n        on_gradient_ready(layer, gradient)
... never added anything to the gradient of layer 0
    for rank in others:\n -> for rank in others if layer else []:\n
... two messages may be arriving in the same memory
    for rank in others:\n            incoming = torch.empty_like(gradient)\n -> incoming = torch.empty_like(gradient)\n        for rank in others:\n
[1] ... waits for others to travel with
    answer one_flat_message
... a tensor was changed while it was being sent: wait() for its isend first
    arriving.append((layer, incoming)) -> gradient += incoming
[2] ... posted its receive
    answer receives_at_the_end
... nothing can be sent before it exists
    backward(comm, gradients, seconds, on_gradient_ready) -> for layer in reversed(range(len(gradients))):\n        on_gradient_ready(layer, gradients[layer])\n    backward(comm, gradients, seconds, lambda layer, gradient: None)
[1] ... hook waits, and the next layer waits with it
    answer waits_in_the_hook
"""

EXERCISE = rank_exercise(
    __name__,
    cases=layers_becoming_ready,
    clock=True,
    network=Network(latency_s=1e-3, bytes_per_s=1e6),
    rules=(
        rules.max_messages(_messages),
        Rule(not_before_it_exists),
        Rule(leaves_when_ready, costs=3),
        Rule(received_in_time, costs=2),
    ),
    mistakes=MISTAKES,
    diagnoses=(*FAILURES, wrong_layers),
    perturbation="receiver",
    hints="""
The hook must return at once, for the next layer waits for it. Which calls of the communicator do that?
In the hook: an irecv into a fresh buffer and an isend for each other rank. Keep the works and, with their layer, the buffers, in lists outside the hook. The hook adds nothing.
After backward(...) has returned: wait() for all works, and only then add each buffer to the gradient of its layer.
""",
)
