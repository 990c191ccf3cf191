# expect: torch.utils.checkpoint is what you write here
from functools import partial

from torch.utils.checkpoint import checkpoint


def recomputed_step(x, weights, segments):
    def network(x, weights):
        size = -(-len(weights) // segments)
        for start in range(0, len(weights), size):
            x = checkpoint(partial(through, weights=weights[start : start + size]), x, use_reentrant=False)
        return x

    return measured(network, x, weights)
