def output_split_backward(comm, x, weight, y_grad):
    x_grad = y_grad @ weight
    all_reduce(comm, x_grad)
    return [x_grad, y_grad.T @ x]
