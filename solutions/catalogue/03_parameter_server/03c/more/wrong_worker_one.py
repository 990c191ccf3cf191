# expect: You compare with worker 1
def may_go_on(clocks, worker, slack):
    return clocks[worker] - clocks[1] <= slack
