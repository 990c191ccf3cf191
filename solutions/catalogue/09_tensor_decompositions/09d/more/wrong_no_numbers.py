# expect: numbers that are none
def subtract(a, b):
    return [torch.full((1, core.shape[1], 1), math.nan) for core in a]
