# %% right: fork
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


# %% right: function
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


# %% right: inference_mode
def mended_step(x, seed, blocks):
    generator, tape = torch.default_generator.manual_seed(seed), []
    with torch.inference_mode():
        for _ in range(blocks):
            tape.append((x.clone(), generator.get_state()))
            x = block(x)
    after, gradient = generator.get_state(), torch.ones(x.shape)
    for value, state in reversed(tape):
        generator.set_state(state)
        leaf = torch.tensor(value.tolist(), requires_grad=True)
        (gradient,) = torch.autograd.grad(block(leaf), leaf, gradient)
    generator.set_state(after)
    return [x, gradient, torch.rand(1)]


# %% right by night: graphs_dropped
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


# %% right by night: rewound_by_drawing
def mended_step(x, seed, blocks):
    def rewound(number):
        """The random numbers stand before this block's: the seed again, and the masks before it drawn for nobody."""
        torch.manual_seed(seed)
        for _ in range(number):
            torch.nn.functional.dropout(torch.ones_like(x), 0.5)

    rewound(0)
    inputs = [x]
    with torch.no_grad():
        for _ in range(blocks):
            inputs.append(block(inputs[-1]))
    y, gradient = inputs.pop(), torch.ones_like(x)
    while inputs:
        leaf = inputs.pop().clone().requires_grad_()
        rewound(len(inputs))
        (gradient,) = torch.autograd.grad(block(leaf), leaf, gradient)
    rewound(blocks)
    return [y, gradient, torch.rand(1)]


# %% wrong: masks_copied
def mended_step(x, seed, blocks):
    torch.manual_seed(seed)
    x = y = x.clone().requires_grad_()
    for _ in range(blocks):
        y = y.roll(1) + y * torch.nn.functional.dropout(torch.ones_like(x), 0.5).clone()
    after = torch.rand(1)
    for _ in range(blocks):
        torch.nn.functional.dropout(torch.ones_like(x), 0.5)
    y.sum().backward()
    return [y, x.grad, after]
