def may_go_on(clocks, worker, slack):
    return clocks[worker] - min(clocks) <= slack
