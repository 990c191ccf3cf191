# %% vjp_of_blocks
def mended_step(x, seed, blocks):
    torch.manual_seed(seed)
    states, xs = [], [x]
    for _ in range(blocks):
        states.append(torch.random.get_rng_state())
        xs.append(block(xs[-1]).detach())
    end, gradient = torch.random.get_rng_state(), torch.ones_like(x)
    for inp, state in zip(xs[-2::-1], states[::-1]):
        with torch.random.fork_rng(devices=[]):
            torch.random.set_rng_state(state)
            _, back = torch.func.vjp(block, inp)
        (gradient,) = back(gradient)
    torch.random.set_rng_state(end)
    return [xs[-1], gradient, torch.rand(1)]
