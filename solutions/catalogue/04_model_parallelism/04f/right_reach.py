def mended_rows(start, stop, size, stride, padding, dilation):
    first = start * stride - padding
    last = (stop - 1) * stride - padding + dilation * (size - 1) + 1
    return [first, last]
