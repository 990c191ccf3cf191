def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    total, product = upstream.sum(0), (upstream * normalized).sum(0)
    all_reduce(comm, total)
    all_reduce(comm, product)
    return (upstream - total / examples - normalized * product / examples) / deviation
