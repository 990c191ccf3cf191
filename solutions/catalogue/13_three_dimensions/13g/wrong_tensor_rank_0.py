# expect: The embedding is mended
def mended_norm(parts):
    seen, squares = set(), 0
    for _data, _stage, tensor, name, _split, gradient in parts:
        part = name
        if part not in seen and tensor == 0:
            seen.add(part)
            squares += sum(x * x for x in gradient)
    return squares**0.5
