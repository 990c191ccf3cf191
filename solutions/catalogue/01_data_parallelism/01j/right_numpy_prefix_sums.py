import numpy as np


def step_seconds(backward_s, exchange_s):
    b, e = np.array(backward_s[::-1]), np.array(exchange_s[::-1])
    ready = b.cumsum()
    tail = e[::-1].cumsum()[::-1]
    return np.array([b.sum() + e.sum(), (ready + tail).max()])
