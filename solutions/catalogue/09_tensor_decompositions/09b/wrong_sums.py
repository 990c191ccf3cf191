# expect: not the product of the sums of their numbers
def element(cores, index):
    result = 1.0
    for core, place in zip(cores, index, strict=True):
        result *= core[:, place].sum().item()
    return result
