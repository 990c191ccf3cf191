# expect: your function returns nothing
def may_go_on(clocks, worker, slack):
    print(clocks[worker] - min(clocks) <= slack)
