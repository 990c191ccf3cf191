# expect: All data ranks have the same gradients
def mended_norm(parts):
    seen, squares = set(), 0
    for data, _stage, tensor, name, split, gradient in parts:
        part = (data, name, tensor if split else 0)
        if part not in seen:
            seen.add(part)
            squares += sum(x * x for x in gradient)
    return squares**0.5
