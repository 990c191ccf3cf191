# expect: send the sum
def top_k_steps(gradients, k):
    res = [0] * len(gradients[0])
    out = []
    for g in gradients:
        w = [a + b for a, b in zip(g, res, strict=True)]
        top = sorted(range(len(w)), key=lambda i: -abs(w[i]))[:k]
        out.append([g[i] if i in top else 0 for i in range(len(w))])
        res = [a - b for a, b in zip(w, out[-1], strict=True)]
    return [out, res]
