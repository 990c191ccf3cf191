import torch


def zero_step(comm, parameters, gradient, state, rate, momentum):
    p, sizes = comm.world_size, [len(chunk) for chunk in parameters.tensor_split(comm.world_size)]
    longest = max(sizes)

    def swap(outgoing):
        """outgoing[r] for rank r, padded; what came from each, in order."""
        boxes = [torch.zeros(longest) for _ in range(p)]
        works = []
        for rank in set(range(p)) - {comm.rank}:
            padded = torch.zeros(longest)
            padded[: len(outgoing[rank])] = outgoing[rank]
            works += [comm.isend(padded, rank), comm.irecv(boxes[rank], rank)]
        for work in works:
            work.wait()
        boxes[comm.rank][: len(outgoing[comm.rank])] = outgoing[comm.rank]
        return boxes

    total = sum(swap(gradient.tensor_split(p)))[: sizes[comm.rank]]
    new_state = momentum * state + total / p
    shard = parameters.tensor_split(p)[comm.rank] - rate * new_state
    boxes = swap([shard] * p)
    return torch.cat([box[:size] for box, size in zip(boxes, sizes, strict=True)]), new_state
