# expect: keeps 3 masks at once
# like: wrong_keeps_the_graph
def mended_step(x, seed, blocks):
    torch.manual_seed(seed)
    x = y = x.clone().requires_grad_()
    for _ in range(blocks):
        state = torch.get_rng_state()
        with torch.no_grad():
            block(y)
        torch.set_rng_state(state)
        y = block(y)
    y.sum().backward()
    return [y, x.grad, torch.rand(1)]
