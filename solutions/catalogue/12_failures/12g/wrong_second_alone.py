# expect: The first mistake is still there
def mended_examples(length, seed, every, lives):
    generator, examples = random.Random(seed), []
    saved = generator.getstate(), 0
    for steps in lives:
        generator.setstate(saved[0])
        taken, order = saved[1], list(range(length))
        generator.shuffle(order)
        for _ in range(steps):
            examples.append(order[taken % length])
            taken += 1
            if taken % length == 0:
                order = list(range(length))
                generator.shuffle(order)
            if taken % every == 0:
                saved = generator.getstate(), taken
    return examples
