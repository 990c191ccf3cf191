"""Exercise 01j: the seconds of a step with and without overlap, by calculation."""

from course_lib.grading.exercises.common import function_exercise


def timed_steps(rng):
    """Seconds of the backward pass and of the exchange, layer by layer; the wire takes one exchange at a time."""
    yield from [([4.0, 1.0, 3.0], [2.0, 7.0, 3.0]), ([5.0], [2.0]), ([1.0, 2.0, 4.0], [8.0, 1.0, 1.0])]
    yield [1.0, 9.0, 1.0, 1.0], [2.0, 1.0, 1.0, 9.0]  # the wire is late by two, and then it waits
    for layers in (4, 7, 12):
        yield (
            [float(each) for each in rng.integers(1, 20, layers)],
            [float(each) for each in rng.integers(1, 20, layers)],
        )


MISTAKES = r"""
You gave them in the other order: first without overlap, then with it
    return ready + sum(exchange_s), free -> return free, ready + sum(exchange_s)
That is with overlap at its best; here the wire waits for the backward pass
    return ready + sum(exchange_s) -> return max(ready, sum(exchange_s))
The exchanges come on top
    return ready + sum(exchange_s) -> return ready
That is the longer of the two, but the wire has nothing to do before the first gradient
    (exchange_s), free -> (exchange_s), max(ready, sum(exchange_s))
That is the backward pass and the last exchange; the wire may still be busy
    (exchange_s), free -> (exchange_s), ready + exchange_s[0]
The lists run from the first layer to the last, the backward pass from the last to the first
    zip(reversed(backward_s), reversed(exchange_s) -> zip(backward_s, exchange_s
The wire takes one exchange at a time, yours run beside each other
    free = max(free, ready) + wire -> free = max(free, ready + wire)
The wire in yours never waits for a gradient, once it has the first
    (exchange_s), free -> (exchange_s), backward_s[-1] + sum(exchange_s)
With you a layer waits for the exchange before it, and no longer; the wire may be late by several
    (exchange_s), free -> (exchange_s), backward_s[-1] + sum(map(max, backward_s, exchange_s[1:])) + exchange_s[0]
A layer's exchange overlaps with its own backward pass in yours; it starts after that
    (exchange_s), free -> (exchange_s), sum(map(max, backward_s, exchange_s))
Nothing overlaps in that
    (exchange_s), free -> (exchange_s), ready + sum(exchange_s)
That is what overlap saves; asked for are the seconds with it
    (exchange_s), free -> (exchange_s), ready + sum(exchange_s) - free
"""

EXERCISE = function_exercise(
    __name__,
    calls=timed_steps,
    label="the seconds of a step",
    tolerance=1e-6,  # seconds in float32 are right, too
    mistakes=MISTAKES,
    hints="""
Draw two rows, compute and wire, and go through the layers in the order of the backward pass: the last first.
An exchange starts when two things are true: its gradient is ready, and the wire is free.
Keep two clocks: ready += backward of this layer; free = max(free, ready) + exchange of this layer.
""",
)
