# expect: lets everybody go on
def may_go_on(clocks, worker, slack):
    return True
