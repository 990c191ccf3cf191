import torch


def overlapped_backward(comm, gradients, seconds):
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    layers = reversed(range(len(gradients)))
    inboxes = {layer: {rank: torch.zeros_like(gradients[layer]) for rank in others} for layer in layers}
    receives = [comm.irecv(inbox, rank) for boxes in inboxes.values() for rank, inbox in boxes.items()]
    sends = []

    def on_gradient_ready(layer, gradient):
        sends.extend(comm.isend(gradient.clone(), rank) for rank in others)

    backward(comm, gradients, seconds, on_gradient_ready)
    for work in receives + sends:
        work.wait()
    for layer, boxes in inboxes.items():
        for inbox in boxes.values():
            gradients[layer].add_(inbox)
