# expect: Store the whole segment in one go
def one_layer_back(x, weights, gradient):
    y = through(x, weights[:-1]).detach().requires_grad_()
    weight = weights[-1].detach().requires_grad_()
    with torch.enable_grad():
        z = through(y, [weight])
    return torch.autograd.grad(z, (y, weight), gradient)


class Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, *weights):
        ctx.save_for_backward(x, *weights)
        return through(x, weights)

    @staticmethod
    def backward(ctx, gradient):
        x, *weights = ctx.saved_tensors
        gradients = []
        for i in reversed(range(len(weights))):
            gradient, of_weight = one_layer_back(x, weights[: i + 1], gradient)
            gradients.append(of_weight)
        return gradient, *reversed(gradients)


def recomputed_step(x, weights, segments):
    def network(x, weights):
        size = -(-len(weights) // segments)
        for start in range(0, len(weights), size):
            x = Segment.apply(x, *weights[start : start + size])
        return x

    return measured(network, x, weights)
