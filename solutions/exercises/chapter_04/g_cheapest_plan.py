"""Exercise 04g: data or model parallelism for each layer, where changing sides costs something."""

from course_lib.grading.exercises.common import function_exercise


def networks(rng):
    """Costs of each layer under both choices, and of changing sides in front of it."""
    yield [2, 2, 5, 9], [8, 3, 2, 1], [0, 1, 3, 5]
    yield [2], [7], [0]
    for length in (3, 5, 8, 10, 40):  # 2^40 plans: nobody tries them all
        data, model, change = (rng.integers(1, 25 * length, length).tolist() for _ in range(3))
        yield data, model, [0, *change[1:]]


MISTAKES = r"""
That leaves out what changing sides costs
    + change[i] ->
Each layer's own best is not the best of all: a change of sides may cost more than it saves
    return min(d, m) -> sides = [b < a for a, b in zip(data, model)]\n    return sum(map(min, data, model)) + sum(change[i] for i in range(1, len(data)) if sides[i] != sides[i - 1])
That never changes sides
    return min(d, m) -> return min(sum(data), sum(model))
The first layer is there once: begin with it, and go on with the layer after it
    range(1, len(data)) -> range(len(data))
A plan may change sides more than once
    return min(d, m) -> return min(sum(data[:i]) + sum(model[i:]) + [*change, 0][i] for i in range(len(data) + 1))
or
    return min(d, m) -> return min(sum(one[:i]) + sum(other[i:]) + [*change, 0][i] for one, other in ((data, model), (model, data)) for i in range(len(data) + 1))
Looking one layer ahead is not enough: keep the best plan that ends on each side
    d, m = data[0], model[0] -> here, there = (data, model) if data[0] <= model[0] else (model, data)\n    total = here[0]
    d, m = data[i] + min(d, m + change[i]), model[i] + min(m, d + change[i]) -> if here[i] > there[i] + change[i]:\n            here, there, total = there, here, total + change[i]\n        total += here[i]
    return min(d, m) -> return total
change[i] is what it costs to change sides in front of layer i, not behind it
    change[i] -> change[i - 1]
Both numbers of a layer come of those of the layer before: change the two at once
    d, m = data[i] + min(d, m + change[i]), model[i] -> d = data[i] + min(d, m + change[i])\n        m = model[i]
The last layer may end on either side: the smaller number of the two counts
    return min(d, m) -> return d
or
    return min(d, m) -> return m
"""

EXERCISE = function_exercise(
    __name__,
    calls=networks,
    label="the cheapest plan",
    mistakes=MISTAKES,
    slow="40 layers have 2^40 plans: keep the best plan that ends on each side, layer by layer",
    hints="""
How many plans are there for 40 layers? What must you know of the first 39 to choose for the last one?
Two numbers are enough: the least cost of all layers so far if the last one is data parallel, and if it is model parallel.
With those two, d and m: the next d is data[i] + min(d, m + change[i]), and the next m likewise.
""",
)
