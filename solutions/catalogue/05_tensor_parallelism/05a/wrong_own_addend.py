# expect: returned its own addend for f
def operators_backward(comm, g_grad, f_grad):
    return [g_grad, f_grad]
