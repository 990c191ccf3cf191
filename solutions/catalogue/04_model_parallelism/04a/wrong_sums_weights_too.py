# expect: each rank's rows are its own
def output_split_backward(comm, x, weight, y_grad):
    x_grad, weight_grad = y_grad @ weight, y_grad.T @ x
    all_reduce(comm, x_grad)
    all_reduce(comm, weight_grad)
    return [x_grad, weight_grad]
