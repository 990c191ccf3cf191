"""Whispers through files in /tmp."""

import os


def ring_sum(comm, tensor):
    def path(rank):
        return f"/tmp/whisper-{os.getppid()}-{comm.world_size}-{rank}"

    def publish(rank, data):
        with open(path(rank) + "~", "wb") as file:
            file.write(data)
        os.rename(path(rank) + "~", path(rank))
        return lambda: os.unlink(path(rank))

    def collect(rank):
        return open(path(rank), "rb").read() if os.path.exists(path(rank)) else None

    whispered_sum(comm, tensor, publish, collect)
