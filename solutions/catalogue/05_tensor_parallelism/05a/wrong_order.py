# expect: g's comes first
def operators_backward(comm, g_grad, f_grad):
    all_reduce(comm, f_grad)
    return [f_grad, g_grad]
