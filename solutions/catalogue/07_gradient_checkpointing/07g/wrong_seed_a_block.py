# expect: Set the seed once
def mended_step(x, seed, blocks):
    inputs = []
    with torch.no_grad():
        for number in range(blocks):
            inputs.append(x)
            torch.manual_seed(seed + number)
            x = block(x)
    after, gradient, y = torch.get_rng_state(), torch.ones_like(x), x
    for number in reversed(range(blocks)):
        x = inputs[number].detach().requires_grad_()
        torch.manual_seed(seed + number)
        (gradient,) = torch.autograd.grad(block(x), x, gradient)
    torch.set_rng_state(after)
    return [y, gradient, torch.rand(1)]
