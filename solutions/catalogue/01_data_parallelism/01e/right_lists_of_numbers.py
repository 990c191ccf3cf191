import torch


def joined_statistics(comm, inputs):
    message = torch.tensor([*inputs.sum(0).tolist(), *(inputs * inputs).sum(0).tolist(), float(len(inputs))])
    all_reduce(comm, message)
    *sums, count = message.tolist()
    means = [each / count for each in sums[: inputs.shape[1]]]
    return means, [each / count - m * m for each, m in zip(sums[inputs.shape[1] :], means, strict=True)]
