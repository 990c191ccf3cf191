# expect: The coordinates are those of `rank`, before the move
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
    there[dimension] = (there[dimension] + steps) % mesh[dimension]
    return [there, back(there, mesh)]
