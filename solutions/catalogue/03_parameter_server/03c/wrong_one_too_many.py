# expect: one further than that
def may_go_on(clocks, worker, slack):
    return clocks[worker] - min(clocks) <= slack + 1
