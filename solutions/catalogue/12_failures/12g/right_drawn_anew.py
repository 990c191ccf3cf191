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
