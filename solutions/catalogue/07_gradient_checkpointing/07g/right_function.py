class Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = block(x)
        torch.set_rng_state(now)
        return torch.autograd.grad(y, x, gradient)[0]


def mended_step(x, seed, blocks):
    torch.manual_seed(seed)
    x = y = x.clone().requires_grad_()
    for _ in range(blocks):
        y = Recomputed.apply(y)
    y.sum().backward()
    return [y, x.grad, torch.rand(1)]
