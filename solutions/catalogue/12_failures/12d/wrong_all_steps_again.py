def relay(comm, rows, weights, seed, steps):
    begun = torch.tensor([seed])
    weights = weights.clone()
    if comm.rank > 0:
        comm.recv(weights, comm.rank - 1)
        comm.recv(begun, comm.rank - 1)
    if comm.rank + 1 < comm.world_size:
        comm.send(weights, comm.rank + 1)
        comm.send(begun, comm.rank + 1)
    training = Training(rows, weights, int(begun))
    for _ in range(sum(steps[: comm.rank + 1])):
        training.step()
    return training.weights
