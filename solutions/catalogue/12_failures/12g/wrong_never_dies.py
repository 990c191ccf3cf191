# expect: what follows a checkpoint is trained on again
def mended_examples(length, seed, every, lives):
    generator, examples = random.Random(seed), []
    while len(examples) < sum(lives):
        order = list(range(length))
        generator.shuffle(order)
        examples += order
    return examples[: sum(lives)]
