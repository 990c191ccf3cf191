# %% right: asserts_the_count
def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    mine = torch.tensor([float(len(upstream))], dtype=torch.float64)
    sums = torch.cat([upstream.sum(0), (upstream * normalized).sum(0), mine])
    all_reduce(comm, sums)
    assert sums[-1] == examples, f"{sums[-1]} examples came, {examples} there are"
    mean, product = (sums[:-1] / examples).chunk(2)
    return (upstream - mean - normalized * product) / deviation


# %% right: count_travels_along
def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    """Each with each, in float64: with the number of examples, which nobody needs, as one element more."""
    count = torch.tensor([float(len(upstream))], dtype=torch.float64)
    mine = torch.cat([upstream.sum(0), (upstream * normalized).sum(0), count])
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    boxes = [torch.empty_like(mine) for _ in others]
    work = [comm.irecv(box, rank) for box, rank in zip(boxes, others, strict=True)]
    work += [comm.isend(mine, rank) for rank in others]
    for each in work:
        each.wait()
    sums = sum(boxes, mine)
    means = (sums[:-1] / sums[-1]).tensor_split(2)
    return (upstream - means[0] - normalized * means[1]) / deviation
