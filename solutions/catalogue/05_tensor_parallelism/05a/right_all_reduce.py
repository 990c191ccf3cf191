def operators_backward(comm, g_grad, f_grad):
    all_reduce(comm, f_grad)
    return [g_grad, f_grad]
