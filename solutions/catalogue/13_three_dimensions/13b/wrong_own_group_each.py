# expect: every group is there once
import itertools


def groups(mesh, dimensions):
    places = list(itertools.product(*map(range, mesh)))

    def key(place):
        return [p for d, p in enumerate(place) if d not in dimensions]

    return [[r for r, there in enumerate(places) if key(there) == key(here)] for here in places]
