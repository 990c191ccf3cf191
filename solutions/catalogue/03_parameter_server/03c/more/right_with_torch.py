import torch


def may_go_on(clocks, worker, slack):
    clocks = torch.tensor(clocks)
    return bool((clocks[worker] - clocks <= slack).all())
