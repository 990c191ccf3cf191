# expect: Behind the last rank of a dimension comes its first one
def at(rank, mesh):
    places = []
    for size in mesh[::-1]:
        places.insert(0, rank % size)
        rank //= size
    return places


def back(places, mesh):
    rank = 0
    for place, size in zip(places, mesh, strict=True):
        rank = rank * size + place
    return rank


def moved(rank, mesh, dimension, steps):
    there = at(rank, mesh)
    there[dimension] += steps
    return [at(rank, mesh), back(there, mesh)]
