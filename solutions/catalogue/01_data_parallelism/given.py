import torch


def all_reduce(comm, tensor):
    """Leave on every rank the sum of all ranks' tensors, in place: rank 0 collects, adds, and hands out."""
    if comm.rank > 0:
        comm.send(tensor, 0)
        comm.recv(tensor, 0)
        return
    incoming = torch.empty_like(tensor)
    for rank in range(1, comm.world_size):
        comm.recv(incoming, rank)
        tensor += incoming
    for rank in range(1, comm.world_size):
        comm.send(tensor, rank)


def backward(comm, gradients, seconds, on_gradient_ready):
    """A backward pass: from the last layer to the first, seconds of work, then the hook with the gradient."""
    for layer in reversed(range(len(gradients))):
        comm.compute(seconds[layer], label=f"layer {layer}")
        on_gradient_ready(layer, gradients[layer])


def mean_gradient(weights, inputs, targets):
    """Gradient of the mean squared error of inputs @ weights, [n, d], [n] -> [d]."""
    return 2 * inputs.T @ (inputs @ weights - targets) / len(targets)


def adagrad(weights, gradient, state, rate):
    """One step of Adagrad, in place: every weight has a rate of its own, smaller the more it has moved."""
    state += gradient**2
    weights -= rate * gradient / (state.sqrt() + 1e-10)
