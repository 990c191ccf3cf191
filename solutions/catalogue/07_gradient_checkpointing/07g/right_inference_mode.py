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
