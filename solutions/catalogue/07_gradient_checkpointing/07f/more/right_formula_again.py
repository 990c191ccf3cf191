class Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, *weights):
        ctx.save_for_backward(x, *weights)
        return through(x, weights)

    @staticmethod
    def backward(ctx, gradient):
        ends = [each.detach().requires_grad_() for each in ctx.saved_tensors]
        with torch.enable_grad():
            y = ends[0]
            for weight in ends[1:]:
                y = torch.relu(y @ weight)
        return torch.autograd.grad(y, ends, gradient)


def recomputed_step(x, weights, segments):
    def network(x, weights):
        size = -(-len(weights) // segments)
        for start in range(0, len(weights), size):
            x = Segment.apply(x, *weights[start : start + size])
        return x

    return measured(network, x, weights)
