# expect: take their states in reverse
def mended_step(x, seed, blocks):
    torch.manual_seed(seed)
    inputs, states = [], []
    with torch.no_grad():
        for _ in range(blocks):
            states.append(torch.get_rng_state())
            inputs.append(x)
            x = block(x)
    y, gradient = x, torch.ones_like(x)
    after = torch.get_rng_state()
    for i in reversed(range(blocks)):
        torch.set_rng_state(states.pop(0))
        x = inputs[i].detach().requires_grad_()
        (gradient,) = torch.autograd.grad(block(x), x, gradient)
    torch.set_rng_state(after)
    return [y, gradient, torch.rand(1)]
