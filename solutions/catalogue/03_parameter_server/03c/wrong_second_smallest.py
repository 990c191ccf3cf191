# expect: take the second smallest
def may_go_on(clocks, worker, slack):
    return clocks[worker] - sorted(clocks)[1] <= slack
