# expect: yours is 'yes'
def may_go_on(clocks, worker, slack):
    return "yes" if clocks[worker] - min(clocks) <= slack else "no"
