# expect: without recomputing there are no two masks
def mended_step(x, seed, blocks):
    torch.manual_seed(seed)
    x = y = x.clone().requires_grad_()
    for _ in range(blocks):
        y = block(y)
    y.sum().backward()
    return [y, x.grad, torch.rand(1)]
