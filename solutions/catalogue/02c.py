# %% right: formatted_by_black
# fmt: off
# As Black breaks lines of 88 characters: one begins with %, inside parentheses.


def ring_all_gather(comm, tensor):
    chunks = tensor.tensor_split(comm.world_size)
    right_neighbor = (comm.rank + 1) % comm.world_size
    for step_of_the_circle in range(comm.world_size - 1):
        number_of_the_outgoing_chunk = (
            (comm.rank + comm.world_size - step_of_the_circle)
            % comm.world_size
        )
        number_of_the_arriving_chunk = (
            (comm.rank + comm.world_size - 1 - step_of_the_circle)
            % comm.world_size
        )
        arriving = torch.empty_like(chunks[number_of_the_arriving_chunk])
        receiving = comm.irecv(
            arriving,
            (comm.rank + comm.world_size - 1)
            % comm.world_size,
        )
        comm.send(chunks[number_of_the_outgoing_chunk], right_neighbor)
        receiving.wait()
        chunks[number_of_the_arriving_chunk].copy_(arriving)
# fmt: on


# %% right: pass_on_what_came
def ring_all_gather(comm, tensor):
    p, r = comm.world_size, comm.rank
    bounds = [sum(len(c) for c in tensor.tensor_split(p)[:i]) for i in range(p + 1)]
    held, number = tensor[bounds[r] : bounds[r + 1]].clone(), r
    while (number - 1) % p != r:
        number = (number - 1) % p
        arriving = torch.empty(bounds[number + 1] - bounds[number])
        receiving = comm.irecv(arriving, (r - 1) % p)
        comm.send(held, (r + 1) % p)
        receiving.wait()
        tensor[bounds[number] : bounds[number + 1]] = arriving
        held = arriving


# %% wrong: each_to_each
def ring_all_gather(comm, tensor):
    chunks = list(tensor.tensor_split(comm.world_size))
    works = []
    for other in range(comm.world_size):
        if other != comm.rank:
            works += [comm.irecv(chunks[other], other), comm.isend(chunks[comm.rank], other)]
    for work in works:
        work.wait()
