# expect: own addend of x_grad
def output_split_backward(comm, x, weight, y_grad):
    return [y_grad @ weight, y_grad.T @ x]
