# expect: That is what autograd keeps
def recomputed_step(x, weights, segments):
    return measured(through, x, weights)
