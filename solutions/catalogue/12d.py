# %% right: named_parts
NAMES = ["weights", "velocity", "order"]


def state_of(training):
    state = {name: getattr(training, name) for name in NAMES}
    return {**state, "taken": torch.tensor(training.taken), "generator": training.generator.get_state()}


def relay(comm, rows, weights, seed, steps):
    training = Training(rows, weights, seed)
    if comm.rank > 0:
        state = {name: torch.empty_like(part) for name, part in state_of(training).items()}
        waits = [comm.irecv(part, comm.rank - 1) for part in state.values()]
        for wait in waits:
            wait.wait()
        training.generator.set_state(state.pop("generator"))
        training.taken = int(state.pop("taken"))
        for name, part in state.items():
            setattr(training, name, part)
    for _ in range(steps[comm.rank]):
        training.step()
    if comm.rank < comm.world_size - 1:
        for send in [comm.isend(part, comm.rank + 1) for part in state_of(training).values()]:
            send.wait()
    return training.weights


# %% right: one_message
def relay(comm, rows, weights, seed, steps):
    me, width = comm.rank, len(weights)
    training = Training(rows, weights, seed)
    if me:
        state = torch.empty(2 * width + len(rows) + 1 + 5056, dtype=torch.float64)
        comm.recv(state, me - 1)
        parts = state.split([width, width, len(rows), 1, 5056])
        training.weights, training.velocity = parts[0].float(), parts[1].float()
        training.order, training.taken = parts[2].long(), int(parts[3])
        training.generator.set_state(parts[4].to(torch.uint8))
    for _ in range(steps[me]):
        training.step()
    if me < comm.world_size - 1:
        drawn = training.generator.get_state()
        state = [training.weights, training.velocity, training.order, torch.tensor([training.taken]), drawn]
        comm.send(torch.cat([part.double() for part in state]), me + 1)
    return training.weights


# %% wrong: all_steps_again
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


# %% wrong: all_steps_by_uniform
def relay(comm, rows, weights, seed, steps):
    begun = torch.cat([weights.double(), torch.tensor([seed]).double()])
    if comm.rank > 0:
        comm.recv(begun, comm.rank - 1)
    if comm.rank + 1 < comm.world_size:
        comm.send(begun, comm.rank + 1)
    training = Training(rows, begun[:-1].float(), int(begun[-1]))
    for _ in range(sum(steps[: comm.rank + 1])):
        if training.taken == len(training.order):
            training.order, training.taken = torch.randperm(len(rows), generator=training.generator), 0
        row = rows[training.order[training.taken]]
        kept = torch.empty(len(row)).uniform_(generator=training.generator) < 0.5
        training.velocity = 0.5 * training.velocity + (training.weights - row) * kept
        training.weights = training.weights - 0.25 * training.velocity
        training.taken += 1
    return training.weights


# %% wrong: before_the_steps
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


# %% wrong: seeds_again
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
