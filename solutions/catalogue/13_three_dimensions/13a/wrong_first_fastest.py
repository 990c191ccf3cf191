# expect: There the first dimension counts fastest
def moved(rank, mesh, dimension, steps):
    places, left = [], rank
    for size in mesh:
        places.append(left % size)
        left //= size
    there = list(places)
    there[dimension] = (there[dimension] + steps) % mesh[dimension]
    other, stride = 0, 1
    for place, size in zip(there, mesh, strict=True):
        other += place * stride
        stride *= size
    return [places, other]
