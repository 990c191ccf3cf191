def relay(comm, rows, weights, seed, steps):
    training = Training(rows, weights, seed)
    if comm.rank > 0:
        taken, drawn = torch.tensor([0]), training.generator.get_state()
        for part in (training.weights, training.velocity, training.order, taken, drawn):
            comm.recv(part, comm.rank - 1)
        training.taken = taken.item()
        training.generator.set_state(drawn)
    if comm.rank + 1 < comm.world_size:
        taken, drawn = torch.tensor([training.taken]), training.generator.get_state()
        for part in (training.weights, training.velocity, training.order, taken, drawn):
            comm.send(part, comm.rank + 1)
    for _ in range(steps[comm.rank]):
        training.step()
    return training.weights
