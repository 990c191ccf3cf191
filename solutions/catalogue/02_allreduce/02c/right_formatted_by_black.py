# fmt: off
# As Black breaks lines of 88 characters: one begins with %, inside parentheses.
import torch


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
