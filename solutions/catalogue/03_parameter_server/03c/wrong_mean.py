# expect: You compare with the mean
import math


def may_go_on(clocks, worker, slack):
    there = [clock for clock in clocks if clock != math.inf]
    return clocks[worker] - sum(there) / len(there) <= slack
