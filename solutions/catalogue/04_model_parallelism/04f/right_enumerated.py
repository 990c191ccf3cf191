def mended_rows(start, stop, size, stride, padding, dilation):
    rows = [output * stride - padding + dilation * place for output in range(start, stop) for place in range(size)]
    return [min(rows), max(rows) + 1]
