# expect: That is what autograd keeps
# like: wrong_plain_autograd
def recomputed_step(x, weights, segments):
    output, of_x, of_weights, _, layers = measured(through, x, weights)
    return [output, of_x, of_weights, 1, 2 * layers]
