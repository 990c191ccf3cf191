# expect: divided the gradient of f
def operators_backward(comm, g_grad, f_grad):
    all_reduce(comm, f_grad)
    return [g_grad, f_grad / comm.world_size]
