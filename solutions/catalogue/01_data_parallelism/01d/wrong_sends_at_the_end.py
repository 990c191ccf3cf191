# expect: nothing overlaps
# points: 1
def overlapped_backward(comm, gradients, seconds):
    backward(comm, gradients, seconds, lambda layer, gradient: None)
    for gradient in gradients:
        all_reduce(comm, gradient)
