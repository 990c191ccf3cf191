# expect: nothing was added between the ranks
def accumulate(comm, gradients, examples):
    return sum(n * gradient for n, gradient in zip(examples, gradients, strict=True)) / sum(examples)
