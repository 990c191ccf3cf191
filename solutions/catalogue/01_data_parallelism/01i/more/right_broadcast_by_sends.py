import torch


def mended_training(comm, weights, inputs, targets, rate):
    if comm.rank == 0:
        works = [comm.isend(weights.clone(), rank) for rank in range(1, comm.world_size)]
        for work in works:
            work.wait()
    else:
        comm.recv(weights, 0)
    squares = torch.zeros_like(weights)
    for step in range(len(targets)):
        share = mean_gradient(weights, inputs[step], targets[step]) / comm.world_size
        all_reduce(comm, share)
        squares += share * share
        weights.sub_(rate * share / (torch.sqrt(squares) + 1e-10))
    return weights
