# expect: lets only the slowest go on
def may_go_on(clocks, worker, slack):
    return clocks[worker] == min(clocks)
