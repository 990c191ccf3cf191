# expect: lacks the part that goes through the deviation
def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    total = upstream.sum(0)
    all_reduce(comm, total)
    return (upstream - total / examples) / deviation
