# expect: then the slowest waits, too
import math


def may_go_on(clocks, worker, slack):
    return max(clock for clock in clocks if clock != math.inf) - min(clocks) <= slack
