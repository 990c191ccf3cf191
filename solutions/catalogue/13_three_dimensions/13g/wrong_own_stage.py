# expect: The norm is the whole model's
def mended_norm(parts):
    squares = 0
    for data, stage, tensor, _name, split, gradient in parts:
        if data == 0 and stage == 0 and (split or tensor == 0):
            squares += sum(x * x for x in gradient)
    return squares**0.5
