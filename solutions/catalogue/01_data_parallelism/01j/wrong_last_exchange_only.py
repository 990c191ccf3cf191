# expect: the wire may still be busy
def step_seconds(backward_s, exchange_s):
    compute, wire = sum(backward_s), sum(exchange_s)
    return compute + wire, compute + exchange_s[0]
