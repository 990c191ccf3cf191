# expect: Values are rounded
def fates(gradients, scale):
    sizes = [abs(x * scale) for x in gradients if x]
    lost, large = sum(x < 2**-24 for x in sizes), sum(x > 65504 for x in sizes)
    return [lost, len(sizes) - lost - large, large]
