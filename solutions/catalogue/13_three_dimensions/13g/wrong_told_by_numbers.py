# expect: tell them by name and rank
def mended_norm(parts):
    counted, squares = set(), 0
    for _data, _stage, _tensor, name, _split, gradient in parts:
        if (name, tuple(gradient)) not in counted:
            counted.add((name, tuple(gradient)))
            squares += sum(x * x for x in gradient)
    return squares**0.5
