# expect: how far behind the fastest it is
import math


def may_go_on(clocks, worker, slack):
    return max(clock for clock in clocks if clock != math.inf) - clocks[worker] <= slack
