# %% right: by_epoch
def shuffled(length, state):
    generator, order = random.Random(), list(range(length))
    generator.setstate(state)
    generator.shuffle(order)
    return order, generator.getstate()


def mended_examples(length, seed, every, lives):
    examples = []
    saved = random.Random(seed).getstate(), 0, 0  # the epoch's state, the place in it, examples in all
    for steps in lives:
        state, place, total = saved
        order, following = shuffled(length, state)
        for _ in range(steps):
            if place == length:
                state, place = following, 0
                order, following = shuffled(length, state)
            examples.append(order[place])
            place, total = place + 1, total + 1
            if total % every == 0:
                saved = state, place, total
    return examples


# %% right: drawn_anew
def mended_examples(length, seed, every, lives):
    def orders():
        generator = random.Random(seed)
        while True:
            order = list(range(length))
            generator.shuffle(order)
            yield from order

    examples, taken = [], 0
    for steps in lives:
        source = orders()
        for _ in range(taken):
            next(source)
        examples += [next(source) for _ in range(steps)]
        taken = (taken + steps) // every * every
    return examples


# %% right: yields
class Epochs:
    def __init__(self, length, seed):
        self.length, self.rng = length, random.Random(seed)

    def __iter__(self):
        while True:
            o = [*range(self.length)]
            self.rng.shuffle(o)
            yield from o


def mended_examples(length, seed, every, lives):
    saved = 0
    for n in lives:
        source = iter(Epochs(length, seed))
        for _ in range(saved):
            next(source)
        for _ in range(n):
            yield next(source)
        saved = (saved + n) // every * every


# %% wrong: saves_the_order
def mended_examples(length, seed, every, lives):
    generator, examples, order = random.Random(seed), [], list(range(length))
    generator.shuffle(order)
    saved = generator.getstate(), 0, list(order)
    for steps in lives:
        generator.setstate(saved[0])
        taken, order = saved[1], list(saved[2])
        for _ in range(steps):
            examples.append(order[taken % length])
            taken += 1
            if taken % length == 0:
                generator.shuffle(order)
            if taken % every == 0:
                saved = generator.getstate(), taken, list(order)
    return examples
