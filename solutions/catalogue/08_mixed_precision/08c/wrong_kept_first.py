# expect: In the order lost, kept, overflowed
# like: wrong_order
def fates(gradients, scale):
    rounded = [abs(fp16(g * scale)) for g in gradients if g != 0]
    lost, overflowed = rounded.count(0), rounded.count(math.inf)
    return [len(rounded) - lost - overflowed, lost, overflowed]
