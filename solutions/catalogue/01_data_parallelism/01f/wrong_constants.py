# expect: treats mean and deviation as constants
def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    return upstream / deviation
