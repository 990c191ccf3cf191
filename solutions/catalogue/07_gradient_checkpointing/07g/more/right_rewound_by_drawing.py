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
