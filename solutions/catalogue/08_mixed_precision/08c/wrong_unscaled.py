# expect: The loss scale multiplies every gradient first
def fates(gradients, scale):
    stored = [fp16(gradient) for gradient in gradients if gradient]
    lost, infinite = stored.count(0), sum(map(math.isinf, stored))
    return [lost, len(stored) - lost - infinite, infinite]
