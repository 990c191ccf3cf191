# expect: there it is the other way
import itertools


def groups(mesh, dimensions):
    found = {}
    for rank, place in enumerate(itertools.product(*map(range, mesh))):
        found.setdefault(tuple(place[d] for d in dimensions), []).append(rank)
    return list(found.values())
