# expect: draws 2 masks
# like: wrong_keeps_the_graph
def mended_step(x, seed, blocks):
    torch.manual_seed(seed)
    x = y = x.clone().requires_grad_()
    for _ in range(blocks):
        runs[tuple(y.tolist())] += 1
        y = block(y)
    y.sum().backward()
    return [y, x.grad, torch.rand(1)]
