# expect: has weights and velocity
def relay(comm, rows, weights, seed, steps):
    training = Training(rows, weights, seed)
    if comm.rank > 0:
        for part in (training.weights, training.velocity):
            comm.recv(part, comm.rank - 1)
    for _ in range(steps[comm.rank]):
        training.step()
    if comm.rank + 1 < comm.world_size:
        for part in (training.weights, training.velocity):
            comm.send(part, comm.rank + 1)
    return training.weights
