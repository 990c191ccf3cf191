# expect: subtracting cores does not subtract entries
def subtract(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]
