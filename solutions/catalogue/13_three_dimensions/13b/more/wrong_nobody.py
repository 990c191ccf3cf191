# expect: With no dimension at all everybody is alone
def groups(mesh, dimensions):
    found, ranks = {}, 1
    for size in mesh:
        ranks *= size
    for rank in range(ranks if dimensions else 0):
        fixed, left = [], rank
        for number in reversed(range(len(mesh))):
            left, place = divmod(left, mesh[number])
            if number not in dimensions:
                fixed.append(place)
        found.setdefault(tuple(fixed), []).append(rank)
    return list(found.values())
