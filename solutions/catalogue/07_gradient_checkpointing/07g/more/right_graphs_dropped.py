def mended_step(x, seed, blocks):
    torch.manual_seed(seed)
    kept = []
    for _ in range(blocks):
        leaf = x.clone().requires_grad_()
        kept.append((leaf, torch.get_rng_state()))
        x = block(leaf).detach()  # its graph goes at once
    after, gradient = torch.rand(1), torch.ones_like(x)
    for leaf, state in reversed(kept):
        torch.set_rng_state(state)
        (gradient,) = torch.autograd.grad(block(leaf), leaf, gradient)
    return [x, gradient, after]
