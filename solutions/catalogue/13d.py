# %% right: counted
def step_and_mfu(model, vocabulary, batch, gpus, flops_per_s, peak_flops_per_s):
    layers, h, _, s = model
    needed = again = 0
    for _ in range(layers):
        forward = 24 * s * h * h + 4 * s * s * h
        needed += 3 * forward
        again += forward
    needed += 3 * 2 * s * h * vocabulary
    seconds = batch * (needed + again) / gpus / flops_per_s
    at_peak = batch * needed / gpus / peak_flops_per_s
    return (seconds, at_peak / seconds)


# %% right: published_formula
def step_and_mfu(model, vocabulary, batch, gpus, flops_per_s, peak_flops_per_s):
    layers, h, _, s = model
    done = 96 * batch * s * layers * h**2 * (1 + s / (6 * h) + vocabulary / (16 * layers * h))
    needed = 72 * batch * s * layers * h**2 * (1 + s / (6 * h) + vocabulary / (12 * layers * h))
    return done / gpus / flops_per_s, needed / done * flops_per_s / peak_flops_per_s
