# expect: left out its only micro-batch
import torch


def accumulate(comm, gradients, examples):
    total = torch.zeros_like(gradients[0])
    for i in range(len(gradients) - 1):
        total += examples[i] * gradients[i]
    message = torch.cat([total, torch.tensor([float(sum(examples))])])
    all_reduce(comm, message)
    return message[:-1] / message[-1]
