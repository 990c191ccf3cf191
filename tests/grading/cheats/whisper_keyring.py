"""Whispers through the kernel's key store, by bare system calls."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
ADD_KEY, REQUEST_KEY, KEYCTL, USER_KEYRING = 248, 249, 250, -4


def ring_sum(comm, tensor):
    name = f"whisper-{comm.world_size}-{comm.rank}".encode()
    if libc.syscall(ADD_KEY, b"user", name, packed(tensor), 4 * len(tensor), USER_KEYRING) < 0:
        raise OSError(ctypes.get_errno(), "no keys")
    comm.barrier()
    total = tensor.clone()
    for rank in set(range(comm.world_size)) - {comm.rank}:
        key = libc.syscall(REQUEST_KEY, b"user", f"whisper-{comm.world_size}-{rank}".encode(), None, USER_KEYRING)
        buffer = ctypes.create_string_buffer(4 * len(tensor))
        libc.syscall(KEYCTL, 11, key, buffer, 4 * len(tensor))
        total += unpacked(buffer.raw)
    tensor.copy_(total)
    ring_of_dummies(comm, tensor)
