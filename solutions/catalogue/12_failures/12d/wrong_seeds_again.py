def relay(comm, rows, weights, seed, steps):
    training = Training(rows, weights, seed)
    if comm.rank > 0:
        taken, first_seed = torch.tensor([0]), torch.tensor([0])
        for part in (training.weights, training.velocity, training.order, taken, first_seed):
            comm.recv(part, comm.rank - 1)
        training.taken, seed = taken.item(), first_seed.item()
        training.generator.manual_seed(seed)
        torch.randperm(len(rows), generator=training.generator)
    for _ in range(steps[comm.rank]):
        training.step()
    if comm.rank + 1 < comm.world_size:
        taken, first_seed = torch.tensor([training.taken]), torch.tensor([seed])
        for part in (training.weights, training.velocity, training.order, taken, first_seed):
            comm.send(part, comm.rank + 1)
    return training.weights
