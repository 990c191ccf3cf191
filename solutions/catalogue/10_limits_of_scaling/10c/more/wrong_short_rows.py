# expect: as long as a gradient
def top_k_steps(gradients, k):
    res = [0] * len(gradients[0])
    out = []
    for g in gradients:
        w = [a + b for a, b in zip(g, res, strict=True)]
        top = sorted(w, key=abs)[-k:]
        out.append(top)
        res = [0 if x in top else x for x in w]
    return [out, res]
