# expect: All tensor ranks have the same gradient of what is not split
def mended_norm(parts):
    seen, squares = set(), 0
    for _data, _stage, tensor, name, _split, gradient in parts:
        part = (name, tensor)
        if part not in seen:
            seen.add(part)
            squares += sum(x * x for x in gradient)
    return squares**0.5
