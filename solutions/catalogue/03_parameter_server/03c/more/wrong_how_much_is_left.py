# expect: yours is -1
def may_go_on(clocks, worker, slack):
    return slack - (clocks[worker] - min(clocks))
