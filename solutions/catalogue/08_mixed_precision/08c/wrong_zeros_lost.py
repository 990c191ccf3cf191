# expect: A gradient that was zero before is not lost
def fates(gradients, scale):
    stored = [fp16(gradient * scale) for gradient in gradients]
    lost, infinite = stored.count(0), sum(map(math.isinf, stored))
    return [lost, len(stored) - lost - infinite, infinite]
