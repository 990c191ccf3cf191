# expect: divided the sum over all ranks by its own number
def accumulate(comm, gradients, examples):
    total = sum(n * gradient for n, gradient in zip(examples, gradients, strict=True))
    all_reduce(comm, total)
    return total / sum(examples)
