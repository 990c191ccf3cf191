# expect: numbers that are none
def tt_svd(tensor, relative_error):
    return [torch.full((1, n, 1), math.nan) for n in tensor.shape]
