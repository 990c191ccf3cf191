# %% right: all_close_enough
def may_go_on(clocks, worker, slack):
    return all(clocks[worker] <= clock + slack for clock in clocks)


# %% right: numpy
import numpy as np


def may_go_on(clocks, worker, slack):
    return np.asarray(clocks)[worker] - np.min(clocks) <= slack


# %% right by night: tensor
def may_go_on(clocks, worker, slack):
    t = torch.tensor(clocks)
    return t[worker] - t.min() <= slack
