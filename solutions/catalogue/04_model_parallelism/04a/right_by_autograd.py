def output_split_backward(comm, x, weight, y_grad):
    x.requires_grad_(), weight.requires_grad_()
    (x @ weight.T).backward(y_grad)
    all_reduce(comm, x.grad)
    return x.grad, weight.grad
