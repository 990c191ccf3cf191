# expect: 7 layers in 4 segments
# like: wrong_one_segment
from functools import partial


def recomputed_step(x, weights, segments):
    class Recomputed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, segment, x):
            ctx.segment = segment
            ctx.save_for_backward(x)
            return segment(x)

        @staticmethod
        def backward(ctx, gradient):
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad():
                y = ctx.segment(x)
            torch.autograd.backward(y, gradient)
            return None, x.grad

    def network(x, weights):
        size = len(weights) // segments
        for start in range(0, len(weights), size):
            x = Recomputed.apply(partial(through, weights=weights[start : start + size]), x)
        return x

    return measured(network, x, weights)
