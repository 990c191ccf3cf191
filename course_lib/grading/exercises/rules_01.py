"""Rules of chapter 1: what one all-reduce may cost, what a ring of shards costs, and when a gradient must leave."""

from __future__ import annotations

from collections.abc import Iterator

from course_lib.comm.trace import Message, Trace
from course_lib.grading import rules
from course_lib.grading.exercise import Case, Rule
from course_lib.grading.rules import Limit

__all__ = ["all_reduces", "leaves_when_ready", "not_before_it_exists", "received_in_time", "shard_bytes"]

ROUNDING_S = 1e-9


def all_reduces(elements: Limit, because: str, count: Limit = lambda case: 1, costs: float | None = 1) -> Rule:
    """At most `count` all-reduces of so many elements: in steps like those through one rank, in bytes like those of
    each with each, both in float64 at most."""

    def check(case: Case, trace: Trace) -> str | None:
        others, times = case.world_size - 1, int(count(case))
        steps, most_bytes = 2 * others * times, 8 * case.world_size * others * int(elements(case)) * times
        if trace.steps > steps:
            one = "one all-reduce takes" if times == 1 else f"{times} all-reduces take"
            return f"it took {trace.steps} steps on the wire, {one} {steps}: {because}"
        if trace.total_bytes > most_bytes:
            return f"all ranks together sent {trace.total_bytes} bytes, {most_bytes} are plenty: {because}"
        return None

    return Rule(check, costs)


def shard_bytes(costs: float) -> Rule:
    """A reduce-scatter and an all-gather: twice (world_size - 1) shards."""
    return rules.bytes_per_rank(
        lambda case: 2 * (case.world_size - 1) * -(-case.tensor.numel() // case.world_size) * 4,
        "give each owner its shard of the gradient, and get from each owner its shard of the parameters",
        costs,
    )


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
    wanted = sorted(length * 4 for length in case.about["lengths"])
    for src in range(case.world_size):
        for dst in set(range(case.world_size)) - {src}:
            sizes = sorted(m.message_bytes for m in trace.messages if (m.src, m.dst) == (src, dst))
            if sizes != wanted:
                return (
                    f"rank {src} sent messages of {sizes} bytes to rank {dst}; asked for is one message for each "
                    f"layer, of {wanted} bytes: a gradient that waits for others to travel with leaves late"
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


def _gradients(case: Case, trace: Trace) -> Iterator[tuple[int, Message]]:
    """The messages that carry a whole layer, each with the layer's number: no two layers have the same length."""
    layers = {length * 4: layer for layer, length in enumerate(case.about["lengths"])}
    for message in trace.messages:
        if message.message_bytes in layers:
            yield layers[message.message_bytes], message


def _late_s(case: Case, layer: int, message: Message) -> float:
    return message.send_posted_s - case.about["ready_s"][message.src][layer]


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms"
