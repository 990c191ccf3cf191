# %% right: found_by_search
import numpy as np


def wrong_way(world_size):
    rng = np.random.default_rng(0)
    while True:
        g = rng.normal(size=world_size) ** 3
        if g.mean() * np.sign(g).sum() < 0:
            return g


# %% right: tensor
def wrong_way(world_size):
    g = torch.full((world_size,), -1.0)
    g[-1] = 2.0 * world_size
    return g
