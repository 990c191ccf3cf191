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
