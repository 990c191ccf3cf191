# expect: summed the gradient of g, too
def operators_backward(comm, g_grad, f_grad):
    all_reduce(comm, f_grad)
    all_reduce(comm, g_grad)
    return [g_grad, f_grad]
