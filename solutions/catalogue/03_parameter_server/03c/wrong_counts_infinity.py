# expect: you look at the largest clock
def may_go_on(clocks, worker, slack):
    return max(clocks) - min(clocks) <= slack
