# expect: Only the last dimension's groups are ranks side by side
def groups(mesh, dimensions):
    ranks = size = 1
    for number, each in enumerate(mesh):
        ranks *= each
        size *= each if number in dimensions else 1
    return [list(range(start, start + size)) for start in range(0, ranks, size)]
