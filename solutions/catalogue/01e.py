# %% right: lists_of_numbers
def joined_statistics(comm, inputs):
    message = torch.tensor([*inputs.sum(0).tolist(), *(inputs * inputs).sum(0).tolist(), float(len(inputs))])
    all_reduce(comm, message)
    *sums, count = message.tolist()
    means = [each / count for each in sums[: inputs.shape[1]]]
    return means, [each / count - m * m for each, m in zip(sums[inputs.shape[1] :], means, strict=True)]


# %% right: merges_in_float64
def joined_statistics(comm, inputs):
    """Every rank's mean, scatter and count in a row of its own, in float64, through rank 0."""
    n, features = inputs.shape
    rows = torch.zeros(comm.world_size, 2 * features + 1, dtype=torch.float64)
    if n:
        own = inputs.double()
        mean = own.mean(0)
        rows[comm.rank] = torch.cat([mean, ((own - mean) ** 2).sum(0), torch.tensor([float(n)])])
    all_reduce(comm, rows)
    means, scatters, counts = rows[:, :features], rows[:, features:-1], rows[:, -1:]
    mean = (means * counts).sum(0) / counts.sum()
    scatter = (scatters + counts * (means - mean) ** 2).sum(0)
    return mean.float(), (scatter / counts.sum()).float()


# %% right: skips_the_empty_rank
def joined_statistics(comm, inputs):
    """Each with each: every rank merges the parts one after the other, and passes over who has no examples."""
    own = torch.cat([inputs.sum(0), (inputs * inputs).sum(0), torch.tensor([float(len(inputs))])])
    parts = [own.clone() for _ in range(comm.world_size)]
    works = []
    for rank in set(range(comm.world_size)) - {comm.rank}:
        works += [comm.isend(own, rank), comm.irecv(parts[rank], rank)]
    for work in works:
        work.wait()
    total, squares, count = 0.0, 0.0, 0.0
    for part in parts:
        if part[-1] > 0:
            some, their_squares = part[:-1].chunk(2)
            total, squares, count = total + some, squares + their_squares, count + part[-1]
    mean = total / count
    return mean, squares / count - mean**2


# %% wrong: gram_matrix
def joined_statistics(comm, inputs):
    features = inputs.shape[1]
    ones = torch.cat([inputs, torch.ones(len(inputs), 1)], 1)
    gram = (ones.T @ ones).contiguous()
    all_reduce(comm, gram)
    mean = gram[-1, :features] / gram[-1, -1]
    return mean, gram.diagonal()[:features] / gram[-1, -1] - mean**2


# %% wrong: two_all_reduces
def joined_statistics(comm, inputs):
    message = torch.cat([inputs.sum(0), torch.tensor([float(len(inputs))])])
    all_reduce(comm, message)
    mean = message[:-1] / message[-1]
    scatter = ((inputs - mean) ** 2).sum(0)
    all_reduce(comm, scatter)
    return mean, scatter / message[-1]
