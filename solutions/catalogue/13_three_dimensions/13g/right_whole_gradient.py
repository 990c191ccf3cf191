import torch


def mended_norm(parts):
    whole = {}
    for _, _, tensor, name, split, gradient in parts:
        whole[name, tensor * split] = torch.tensor(gradient, dtype=torch.float64)
    return torch.cat(list(whole.values())).norm()
