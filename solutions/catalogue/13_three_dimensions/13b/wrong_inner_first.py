# expect: Groups are in the order of their first ranks
import itertools


def groups(mesh, dimensions):
    found = {}
    for rank, place in enumerate(itertools.product(*map(range, mesh))):
        fixed = tuple(p for d, p in enumerate(place) if d not in dimensions)
        found.setdefault(fixed[::-1], []).append(rank)
    return [found[key] for key in sorted(found)]
