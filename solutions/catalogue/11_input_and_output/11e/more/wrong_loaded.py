# expect: at which the batches are loaded
def step_ends(load_ms, compute_ms, depth):
    b, e, t, out = [], [], 0, []
    for i in range(len(load_ms)):
        t = max(t, b[i - depth - 1] if i > depth else 0) + load_ms[i]
        out.append(t)
        b.append(max(t, e[-1] if e else 0))
        e.append(b[-1] + compute_ms[i])
    return out
