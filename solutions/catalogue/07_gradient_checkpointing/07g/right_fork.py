def mended_step(x, seed, blocks):
    torch.manual_seed(seed)
    inputs, states = [], []
    for _ in range(blocks):
        states.append(torch.get_rng_state())
        inputs.append(x)
        with torch.no_grad():
            x = block(x)
    y, gradient = x, torch.ones_like(x)
    with torch.random.fork_rng(devices=[]):
        while inputs:
            torch.set_rng_state(states.pop())
            leaf = inputs.pop().clone().requires_grad_()
            (block(leaf) * gradient).sum().backward()
            gradient = leaf.grad
    return y, gradient, torch.rand(1)
