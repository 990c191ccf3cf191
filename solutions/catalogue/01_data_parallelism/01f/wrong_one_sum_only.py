# expect: mean(g x̂) runs over its own examples
def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    s = upstream.sum(0)
    all_reduce(comm, s)
    product = (upstream * normalized).sum(0) / examples
    return (upstream - s / examples - normalized * product) / deviation
