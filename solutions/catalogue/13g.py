# %% right: filters
import math


def mended_norm(parts):
    own = [part for part in parts if part[0] == 0 and (part[4] or part[2] == 0)]
    first = {name: min(stage for _, stage, _, other, *_ in own if other == name) for *_, name, _, _ in own}
    return math.sqrt(sum(x**2 for _, stage, _, name, _, gradient in own if stage == first[name] for x in gradient))


# %% right: whole_gradient
def mended_norm(parts):
    whole = {}
    for _, _, tensor, name, split, gradient in parts:
        whole[name, tensor * split] = torch.tensor(gradient, dtype=torch.float64)
    return torch.cat(list(whole.values())).norm()
