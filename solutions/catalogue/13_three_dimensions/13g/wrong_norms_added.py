# expect: Norms do not add up, their squares do
def mended_norm(parts):
    seen, squares = set(), 0
    for _data, _stage, tensor, name, split, gradient in parts:
        part = (name, tensor if split else 0)
        if part not in seen:
            seen.add(part)
            squares += sum(x * x for x in gradient) ** 0.5
    return squares
