# expect: You look at the clock before this worker's
def may_go_on(clocks, worker, slack):
    return clocks[worker - 1] - min(clocks) <= slack
