# expect: Negative gradients overflow too
def fates(gradients, scale):
    stored = [fp16(gradient * scale) for gradient in gradients if gradient]
    lost, infinite = stored.count(0), stored.count(math.inf)
    return [lost, len(stored) - lost - infinite, infinite]
