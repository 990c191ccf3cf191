# expect: returns nothing
def output_split_backward(comm, x, weight, y_grad):
    x_grad = all_reduce(comm, y_grad @ weight)
    return [x_grad, y_grad.T @ x]
