# expect: That is the colleague's program
def mended_norm(parts):
    squares = 0
    for data, _stage, tensor, _name, _split, gradient in parts:
        if data == 0 and tensor == 0:
            squares += sum(x * x for x in gradient)
    return squares**0.5
