# expect: That is the formula of GPipe's step
def step_and_bubble(schedule, forward, backward, transfer):
    p, m = len(schedule), len(schedule[0]) // 2
    step = (m + p - 1) * (forward + backward) + 2 * (p - 1) * transfer
    return [step, 1 - m * (forward + backward) / step]
