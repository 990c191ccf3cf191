def top_k_sum(comm, gradient, residual, k):
    wanted = gradient + residual
    places = wanted.abs().topk(k).indices
    row = torch.zeros_like(wanted)
    row[places] = wanted[places]
    left = wanted - row
    all_reduce(comm, row)
    return [row, left]
