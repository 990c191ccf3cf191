# expect: with a slack of your own
def may_go_on(clocks, worker, slack):
    return clocks[worker] - min(clocks) <= 2
