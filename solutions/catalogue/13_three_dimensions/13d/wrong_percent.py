# expect: A share, not a percentage
def step_and_mfu(model, vocabulary, batch, gpus, flops_per_s, peak_flops_per_s):
    layers, h, _, s = model
    layer, output = 24 * s * h**2 + 4 * s**2 * h, 2 * s * h * vocabulary
    done = batch * (4 * layers * layer + 3 * output)
    needed = batch * (3 * layers * layer + 3 * output)
    seconds = done / (gpus * flops_per_s)
    return [seconds, 100 * needed / (seconds * gpus * peak_flops_per_s)]
