"""The cell itself never ends, before there is a function."""

while True:
    pass


def ring_sum(comm, tensor):
    pass
