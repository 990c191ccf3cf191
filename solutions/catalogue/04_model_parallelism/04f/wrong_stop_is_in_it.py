# expect: the last output row is stop - 1
def mended_rows(start, stop, size, stride, padding, dilation):
    first = start * stride - padding
    return [first, stop * stride - padding + dilation * (size - 1) + 1]
