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
