# expect: divided by its own number of examples
def average_gradient(comm, gradient, examples):
    gradient.mul_(examples).nan_to_num_()
    all_reduce(comm, gradient)
    gradient /= max(examples, 1)
