# %% right: enumerated
def mended_rows(start, stop, size, stride, padding, dilation):
    rows = [output * stride - padding + dilation * place for output in range(start, stop) for place in range(size)]
    return [min(rows), max(rows) + 1]


# %% right: reach
def mended_rows(start, stop, size, stride, padding, dilation):
    first = start * stride - padding
    last = (stop - 1) * stride - padding + dilation * (size - 1) + 1
    return [first, last]
