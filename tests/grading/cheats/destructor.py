"""Leaves an object behind whose end never ends."""


class Endless:
    def __del__(self):
        while True:
            pass


def ring_sum(comm, tensor):
    tensor.keep = Endless()
    comm.keep = Endless()
