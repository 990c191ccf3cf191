# expect: Subnormal numbers are kept
def fates(gradients, scale):
    scaled = [abs(gradient * scale) for gradient in gradients if gradient]
    lost, infinite = sum(x < 2.0**-14 for x in scaled), sum(x >= 65520 for x in scaled)
    return [lost, len(scaled) - lost - infinite, infinite]
