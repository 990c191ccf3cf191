# expect: in every life
def mended_examples(length, seed, every, lives):
    generator, examples = random.Random(seed), []
    saved = generator.getstate(), 0
    for steps in lives:
        generator.seed(seed)
        before, taken, order = generator.getstate(), saved[1], list(range(length))
        generator.shuffle(order)
        for _ in range(steps):
            examples.append(order[taken % length])
            taken += 1
            if taken % length == 0:
                before, order = generator.getstate(), list(range(length))
                generator.shuffle(order)
            if taken % every == 0:
                saved = before, taken
    return examples
