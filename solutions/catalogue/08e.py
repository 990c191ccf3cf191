# %% right: sum
from functools import reduce


def trained_weight(weight, updates):
    return reduce(lambda w, update: fp16(w + update), updates, weight), fp16(weight + sum(updates))


# %% right: torch
def trained_weight(weight, updates):
    half = torch.tensor(weight, dtype=torch.float16)
    master = torch.tensor(weight, dtype=torch.float32)
    for update in updates:
        half = (half.float() + update).half()
        master += update
    return [half.item(), master.half().item()]
