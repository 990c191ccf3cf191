import numpy as np


def may_go_on(clocks, worker, slack):
    return np.asarray(clocks)[worker] - np.min(clocks) <= slack
