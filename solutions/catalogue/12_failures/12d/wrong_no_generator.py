# expect: dropped other numbers
def relay(comm, rows, weights, seed, steps):
    training = Training(rows, weights, seed)
    if comm.rank > 0:
        taken = torch.tensor([0])
        for part in (training.weights, training.velocity, training.order, taken):
            comm.recv(part, comm.rank - 1)
        training.taken = taken.item()
    for _ in range(steps[comm.rank]):
        training.step()
    if comm.rank + 1 < comm.world_size:
        taken = torch.tensor([training.taken])
        for part in (training.weights, training.velocity, training.order, taken):
            comm.send(part, comm.rank + 1)
    return training.weights
