from functools import partial


class Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x):
        ctx.run, ctx.x = run, x
        return run(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.x.detach().requires_grad_()
        with torch.enable_grad():
            (ctx.run(x) * gradient).sum().backward()
        return None, x.grad


def recomputed_step(x, weights, segments):
    def network(x, weights):
        size = (len(weights) + segments - 1) // segments
        parts = [weights[i : i + size] for i in range(0, len(weights), size)]
        for part in parts[:-1]:
            x = Recomputed.apply(partial(through, weights=part), x)
        return through(x, parts[-1])

    return measured(network, x, weights)
