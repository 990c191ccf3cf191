# fmt: off
# As Black breaks lines of 88 characters: one begins with %, inside parentheses and inside a string.
import torch


def zero_step(comm, parameters, gradient, state, rate, momentum):
    """Owners update their shards; chunks travel round a ring.
    % Who holds what: rank r the chunk r.
    """
    gradients = gradient.tensor_split(comm.world_size)
    weights = parameters.tensor_split(comm.world_size)
    right_neighbor = (comm.rank + 1) % comm.world_size
    left_neighbor = (comm.rank + comm.world_size - 1) % comm.world_size
    for step_of_the_circle in range(comm.world_size - 1):
        number_of_the_outgoing_chunk = (
            (comm.rank + 2 * comm.world_size - 1 - step_of_the_circle)
            % comm.world_size
        )
        number_of_the_arriving_chunk = (
            (comm.rank + 2 * comm.world_size - 2 - step_of_the_circle)
            % comm.world_size
        )
        arriving = torch.empty_like(gradients[number_of_the_arriving_chunk])
        sending = comm.isend(gradients[number_of_the_outgoing_chunk], right_neighbor)
        comm.recv(arriving, left_neighbor)
        sending.wait()
        gradients[number_of_the_arriving_chunk].add_(arriving)
    state = momentum * state + gradients[comm.rank] / comm.world_size
    weights[comm.rank].sub_(rate * state)
    for step_of_the_circle in range(comm.world_size - 1):
        number_of_the_outgoing_chunk = (
            (comm.rank + comm.world_size - step_of_the_circle)
            % comm.world_size
        )
        number_of_the_arriving_chunk = (
            (comm.rank + comm.world_size - 1 - step_of_the_circle)
            % comm.world_size
        )
        sending = comm.isend(weights[number_of_the_outgoing_chunk], right_neighbor)
        comm.recv(weights[number_of_the_arriving_chunk], left_neighbor)
        sending.wait()
    return parameters, state
