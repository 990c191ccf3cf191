# expect: it does not move where it begins
def mended_rows(start, stop, size, stride, padding, dilation):
    first = start * stride - padding
    last = (stop - 1) * stride - padding
    return [first * dilation, last * dilation + dilation * (size - 1) + 1]
