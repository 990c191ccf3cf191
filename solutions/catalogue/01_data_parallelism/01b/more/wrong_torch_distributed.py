# expect: torch.distributed's own collectives
import torch.distributed as dist


def average_gradient(comm, gradient, examples):
    total = examples * gradient if examples else torch.zeros_like(gradient)
    message = torch.cat([total, torch.tensor([float(examples)])])
    dist.all_reduce(message)
    gradient.copy_(message[:-1] / message[-1])
