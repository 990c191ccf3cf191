# expect: That is what it gave before
def mended_step(x, seed, blocks):
    torch.manual_seed(seed)
    inputs = []
    with torch.no_grad():
        for _ in range(blocks):
            inputs.append(x)
            x = block(x)
    y, gradient = x, torch.ones_like(x)
    for x in reversed(inputs):
        x = x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(block(x), x, gradient)
    return [y, gradient, torch.rand(1)]
