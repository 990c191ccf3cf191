def may_go_on(clocks, worker, slack):
    return not any(clocks[worker] - other > slack for other in clocks)
