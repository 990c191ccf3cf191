# expect: In the order lost, kept, overflowed
def fates(gradients, scale):
    stored = [fp16(gradient * scale) for gradient in gradients if gradient]
    lost, infinite = stored.count(0), sum(map(math.isinf, stored))
    return [infinite, len(stored) - lost - infinite, lost]
