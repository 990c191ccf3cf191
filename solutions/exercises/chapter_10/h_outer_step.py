"""Exercise 10h: DiLoCo's outer step over a communicator."""

from course_lib.grading.exercise import Case, whole_numbers
from course_lib.grading.exercises.common import FAILURES, all_reduced, given_nothing, rank_exercise

# ranks, numbers of the row, rate and momentum (in quarters: float32 is exact), trials with a changed message
SHAPES = ((1, 5, 0.5, 0.25, 0), (2, 7, 0.75, 0.5, 0), (3, 4, 1.5, 0.75, 1), (4, 9, 0.5, 0.5, 0), (5, 6, 0.75, 0.25, 1))


def steps(rng):
    """Changes on 3 or 5 ranks are whole multiples of that, so that their means are exact; those on 2 or 4 are so anyway."""
    for world_size, length, rate, momentum, perturb in SHAPES:
        common, velocity = whole_numbers(rng, length, most=9999), whole_numbers(rng, length, most=999)
        times = world_size if world_size % 2 else 1
        changes = [times * whole_numbers(rng, length, most=999) for _ in range(world_size)]
        inputs = [(common.clone(), common + change, velocity.clone(), rate, momentum) for change in changes]
        label = f"world_size {world_size}, {length} numbers, rate {rate}, momentum {momentum}"
        yield Case(world_size, inputs, (), perturb, label)


MISTAKES = r"""
went uphill: the outer gradient is common - own, because a step goes against its gradient
    common - own -> own - common
has the sum of what the ranks changed; asked for is the mean
    (common - own) / comm.world_size -> common - own
divided twice: the mean is divided by the number of ranks once
    (common - own) / comm.world_size -> (common - own) / comm.world_size**2
followed the new velocity, which is plain momentum; Nesterov's step is the gradient and momentum times the new velocity
    gradient + momentum * velocity), -> velocity),
or
    velocity = momentum * velocity + gradient\n    return [common - rate * (gradient + momentum * velocity), velocity] -> after = momentum * velocity + gradient\n    return [common - rate * (gradient + momentum * velocity), after]
forgot momentum before the velocity in its step
    gradient + momentum * velocity), -> gradient + velocity),
began at its own parameters; the step begins at the common ones
    return [common -> return [own
averaged the parameters and took no step with a rate
    common - rate * (gradient + momentum * velocity) -> common - gradient
returned the velocity of before; the next step needs the new one
    velocity = momentum * velocity + gradient\n    return [common - rate * (gradient + momentum * velocity), velocity] -> after = momentum * velocity + gradient\n    return [common - rate * (gradient + momentum * after), velocity]
has the rate in its velocity; it belongs into the step alone
    velocity + gradient -> velocity + rate * gradient
weighed the gradient by 1 - momentum in its velocity; SGD adds it whole
    velocity + gradient -> velocity + (1 - momentum) * gradient
followed its own change: sum the outer gradients over the ranks
    all_reduce(comm, gradient) ->
summed the velocity, which all ranks have already: sum the outer gradient, then add it
    all_reduce(comm, gradient)\n    velocity = momentum * velocity + gradient -> velocity = momentum * velocity + gradient\n    all_reduce(comm, velocity)
... only the outer gradient crosses the wire
    all_reduce(comm, gradient) -> all_reduce(comm, gradient)\n    velocity = velocity / comm.world_size\n    all_reduce(comm, velocity)\n    again = own.clone()\n    all_reduce(comm, again)
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=steps,
    rules=all_reduced(lambda case: case.inputs[0][0].numel(), "only the outer gradient crosses the wire, once"),
    before=(*FAILURES, given_nothing),
    mistakes=MISTAKES,
    whole_multiples=False,  # of a mean
    hints="""
gradient = (common - own) / comm.world_size, summed over the ranks with all_reduce, which changes it in place.
The new velocity is momentum * velocity + gradient, with the mean gradient, so it is the same on all ranks.
The new parameters are common - rate * (gradient + momentum * new velocity). Return both.
""",
)
