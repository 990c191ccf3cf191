# expect: The output is a matrix product, too
def step_and_mfu(model, vocabulary, batch, gpus, flops_per_s, peak_flops_per_s):
    layers, h, _, s = model
    layer = 24 * s * h**2 + 4 * s**2 * h
    done = batch * 4 * layers * layer
    needed = batch * 3 * layers * layer
    seconds = done / (gpus * flops_per_s)
    return [seconds, needed / (seconds * gpus * peak_flops_per_s)]
