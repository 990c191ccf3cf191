# expect: has nothing to do before the first gradient
def step_seconds(backward_s, exchange_s):
    compute, wire = sum(backward_s), sum(exchange_s)
    return compute + wire, max(compute, wire)
