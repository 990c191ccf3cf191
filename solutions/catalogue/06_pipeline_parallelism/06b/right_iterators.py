from itertools import chain, islice, zip_longest


def one_f_one_b(stages, micro_batches):
    def of(rank):
        f, b = (map(f"{k}{{}}".format, range(micro_batches)) for k in "FB")
        yield from islice(f, stages - rank)
        yield from filter(None, chain.from_iterable(zip_longest(b, f)))

    return (of(rank) for rank in range(stages))
