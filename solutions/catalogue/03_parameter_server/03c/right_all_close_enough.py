def may_go_on(clocks, worker, slack):
    return all(clocks[worker] <= clock + slack for clock in clocks)
