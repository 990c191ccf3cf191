# expect: has the two exchanged
def operators_backward(comm, g_grad, f_grad):
    all_reduce(comm, g_grad)
    return [g_grad, f_grad]
