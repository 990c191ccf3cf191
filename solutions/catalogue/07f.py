# %% right: last_one_plain
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


# %% right: weights_as_arguments
class Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, *weights):
        ctx.save_for_backward(x, *weights)
        return through(x, weights)

    @staticmethod
    def backward(ctx, gradient):
        leaves = [each.detach().requires_grad_() for each in ctx.saved_tensors]
        with torch.enable_grad():
            y = through(leaves[0], leaves[1:])
        return torch.autograd.grad(y, leaves, gradient)


def recomputed_step(x, weights, segments):
    size = -(-len(weights) // segments)

    def network(x, weights):
        while weights:
            x, weights = Segment.apply(x, *weights[:size]), weights[size:]
        return x

    return measured(network, x, weights)


# %% right by night: formula_again
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


# %% wrong: through_beside_it
def recomputed_step(x, weights, segments):
    def network(x, weights):
        y = x
        for weight in weights:
            y = y @ weight
            y = y * (y > 0)
        with torch.no_grad():
            for _ in range(2):
                z = x
                for weight in weights:
                    z = through(z, [weight])
        return y

    return measured(network, x, weights)
