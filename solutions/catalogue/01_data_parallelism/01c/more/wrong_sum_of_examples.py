# expect: holds the sum over all examples: divide
def accumulate(comm, gradients, examples):
    total = sum(n * gradient for n, gradient in zip(examples, gradients, strict=True))
    all_reduce(comm, total)
    return total
