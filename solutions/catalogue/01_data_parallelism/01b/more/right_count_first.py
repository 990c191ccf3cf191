import torch


def average_gradient(comm, gradient, examples):
    message = torch.zeros(1 + len(gradient), dtype=torch.float64)
    message[0] = examples
    message[1:] = torch.nan_to_num(gradient) * examples
    all_reduce(comm, message)
    gradient.zero_()
    gradient += message[1:] / message[0].item()
