import numpy as np


def wrong_way(world_size):
    rng = np.random.default_rng(0)
    while True:
        g = rng.normal(size=world_size) ** 3
        if g.mean() * np.sign(g).sum() < 0:
            return g
