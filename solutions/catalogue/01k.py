# %% right: a_class_and_one_list_of_computations
class Walk:
    """Goes through all computations in a row; each knows its own layer and asks for the next one's."""

    def __init__(self, units, layers):
        self.units, self.kept = units, {}
        self.order = list(range(layers)) + list(range(layers))[::-1]

    def __call__(self, x, target):
        layers = len(self.order) // 2
        for place, k in enumerate(self.order):
            if k not in self.units.whole:
                self.units.gather(k)
            self.units.wait(k)
            following = self.order[place + 1] if place + 1 < len(self.order) else k
            if following != k:
                self.units.gather(following)
            if place < layers:
                self.kept[k] = x
                x = self.units.forward(k, x)
                if place == layers - 1:
                    x = x - target
            else:
                x, gradient = self.units.backward(k, self.kept[k], x)
                self.units.reduce(k, gradient)
            if following != k or place == len(self.order) - 1:
                self.units.free(k)
        return x


def sharded_step(comm, shards, shapes, seconds, x, target):
    units = Units(comm, shards, shapes, seconds)
    first = Walk(units, len(shards))(x, target)
    return (first, *units.gradients())


# %% right: a_generator_that_hands_out_whole_layers
def sharded_step(comm, shards, shapes, seconds, x, target):
    units = Units(comm, shards, shapes, seconds)

    def whole(numbers):
        numbers = list(numbers)
        if numbers[0] not in units.whole:
            units.gather(numbers[0])
        for place, k in enumerate(numbers):
            units.wait(k)
            for following in numbers[place + 1 : place + 2]:
                units.gather(following)
            yield k

    inputs = [x]
    for k in whole(range(len(shards))):
        inputs.append(units.forward(k, inputs[-1]))
        if k != len(shards) - 1:
            units.free(k)
    grad = inputs.pop() - target
    for k in whole(range(len(shards) - 1, -1, -1)):
        grad, of_weights = units.backward(k, inputs.pop(), grad)
        units.reduce(k, of_weights)
        units.free(k)
    return [grad] + units.gradients()


# %% right: keeps_two_layers_at_the_turn
def sharded_step(comm, shards, shapes, seconds, x, target):
    """The last two layers stay from the forward to the backward pass: one gather less, and two in memory still."""
    units = Units(comm, shards, shapes, seconds)
    n = len(shards)
    saved = {}
    units.gather(0)
    for k in range(n):
        units.wait(k)
        if k + 1 < n:
            units.gather(k + 1)
        saved[k] = x.clone()
        x = units.forward(k, x)
        if k < n - 2:
            units.free(k)
    g = x.sub(target)
    for k in range(n - 1, -1, -1):
        if k != n - 1:
            units.wait(k)
        if k - 1 >= 0 and k - 1 < n - 2:
            units.gather(k - 1)
        g, dw = units.backward(k, saved.pop(k), g)
        units.free(k)
        units.reduce(k, dw)
    return [g, *units.gradients()]


# %% right by night: gathers_at_the_end_of_a_turn
def sharded_step(comm, shards, shapes, seconds, x, target):
    """The first gather of the backward pass sets out during the last layer's forward pass."""
    units = Units(comm, shards, shapes, seconds)
    last = len(shards) - 1
    kept = []
    units.gather(0)
    for k in range(last):
        units.wait(k)
        units.gather(k + 1)
        kept.append(x)
        x = units.forward(k, x)
        units.free(k)
    units.wait(last)
    units.gather(last - 1)
    kept.append(x)
    upstream = units.forward(last, x) - target
    for k in range(last, -1, -1):
        units.wait(k)
        if k not in (0, last):
            units.gather(k - 1)
        upstream, gradient = units.backward(k, kept[k], upstream)
        units.reduce(k, gradient)
        units.free(k)
    return [upstream, *units.gradients()]
