# expect: Each of the kernel's gaps grows
def mended_rows(start, stop, size, stride, padding, dilation):
    first = start * stride - padding
    return [first, (stop - 1) * stride - padding + size + dilation - 1]
