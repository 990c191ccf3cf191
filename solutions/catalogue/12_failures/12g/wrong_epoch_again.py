# expect: behind what was taken of it
def mended_examples(length, seed, every, lives):
    generator, examples = random.Random(seed), []
    saved = generator.getstate(), 0
    for steps in lives:
        generator.setstate(saved[0])
        before, taken, order = saved[0], saved[1] // length * length, list(range(length))
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
