def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    if not len(upstream):
        return upstream
    mean, product = upstream.mean(0), (upstream * normalized).mean(0)
    return (upstream - mean - normalized * product) / deviation
