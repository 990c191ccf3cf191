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
