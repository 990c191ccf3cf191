import itertools


def groups(mesh, dimensions):
    places = list(itertools.product(*map(range, mesh)))
    done, found = set(), []
    for rank, here in enumerate(places):
        if rank in done:
            continue
        together = [
            other
            for other, there in enumerate(places)
            if all(a == b for d, (a, b) in enumerate(zip(here, there, strict=True)) if d not in dimensions)
        ]
        done.update(together)
        found.append(tuple(together))
    return tuple(found)
