# expect: one group has all ranks that differ in any of them
import itertools


def groups(mesh, dimensions):
    places = list(itertools.product(*map(range, mesh)))
    found = []
    for d in dimensions or [None]:
        each = {}
        for rank, place in enumerate(places):
            each.setdefault(tuple(p for n, p in enumerate(place) if n != d), []).append(rank)
        found += each.values()
    return found
