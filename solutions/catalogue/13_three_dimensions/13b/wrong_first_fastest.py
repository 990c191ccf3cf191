# expect: That counts with the first dimension fastest
def groups(mesh, dimensions):
    found, ranks = {}, 1
    for size in mesh:
        ranks *= size
    for rank in range(ranks):
        fixed, left = [], rank
        for number, size in enumerate(mesh):
            if number not in dimensions:
                fixed.append(left % size)
            left //= size
        found.setdefault(tuple(fixed), []).append(rank)
    return list(found.values())
