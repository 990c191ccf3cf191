# expect: That is what it gave before
def mended_rows(start, stop, size, stride, padding, dilation):
    first = start * stride - padding
    return [first, (stop - 1) * stride - padding + size]
