# expect: twice their gradients
class Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, *weights):
        ctx.save_for_backward(x)
        ctx.weights = weights
        return through(x, weights)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = through(x, ctx.weights)
        gradients = torch.autograd.grad(y, ctx.weights, gradient, retain_graph=True)
        torch.autograd.backward(y, gradient)
        return x.grad, *gradients


def recomputed_step(x, weights, segments):
    def network(x, weights):
        size = -(-len(weights) // segments)
        for start in range(0, len(weights), size):
            x = Segment.apply(x, *weights[start : start + size])
        return x

    return measured(network, x, weights)
