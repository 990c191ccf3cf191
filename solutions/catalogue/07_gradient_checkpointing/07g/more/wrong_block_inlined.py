# expect: draws 2 masks
# like: wrong_keeps_the_graph
def mended_step(x, seed, blocks):
    torch.manual_seed(seed)
    x = y = x.clone().requires_grad_()
    for _ in range(blocks):
        y = y.roll(1) + torch.nn.functional.dropout(y, 0.5)
    y.sum().backward()
    return [y, x.grad, torch.rand(1)]
