# expect: The split parameters are mended
# like: wrong_tied_twice
def mended_norm(parts):
    squares = 0
    for data, stage, tensor, name, split, gradient in parts:
        tied = name == "embedding" and stage > 0
        if data == 0 and (split or tensor == 0) and not tied:
            squares += sum(x * x for x in gradient)
    return squares**0.5
