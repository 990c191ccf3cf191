# expect: A step is as long as all dimensions further in have ranks, multiplied
def moved(rank, mesh, dimension, steps):
    places, left, ranks = [], rank, 1
    for size in mesh[::-1]:
        places.insert(0, left % size)
        left //= size
        ranks *= size
    return [places, (rank + steps) % ranks]
