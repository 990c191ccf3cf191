def step_and_mfu(model, vocabulary, batch, gpus, flops_per_s, peak_flops_per_s):
    layers, h, _, s = model
    done = 96 * batch * s * layers * h**2 * (1 + s / (6 * h) + vocabulary / (16 * layers * h))
    needed = 72 * batch * s * layers * h**2 * (1 + s / (6 * h) + vocabulary / (12 * layers * h))
    return done / gpus / flops_per_s, needed / done * flops_per_s / peak_flops_per_s
