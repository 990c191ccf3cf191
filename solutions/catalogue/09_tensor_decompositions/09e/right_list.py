def product(cores, x):
    y = x
    for core in cores:
        r, m, n, s = core.shape
        y = core.permute(3, 1, 0, 2).reshape(s * m, r * n) @ y.reshape(r * n, -1)
        y = y.reshape(s, m, -1).transpose(1, 2)
    return y.flatten().tolist()
