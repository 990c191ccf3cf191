# expect: without recomputing there are no two masks
# like: wrong_keeps_the_graph
def mended_step(x, seed, blocks):
    torch.manual_seed(seed)
    kept = []
    for _ in range(blocks):
        leaf = x.detach().requires_grad_()
        x = block(leaf)
        kept.append((leaf, x))
    gradient = torch.ones_like(x)
    for leaf, y in reversed(kept):
        (gradient,) = torch.autograd.grad(y, leaf, gradient)
    return [x, gradient, torch.rand(1)]
