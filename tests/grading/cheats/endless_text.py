"""Raises an exception whose text takes forever, and whose type has a name of a megabyte."""


class Odd(Exception):
    def __str__(self):
        while self:
            pass
        return "4 of 4"


Odd.__name__ = "4 of 4 points " * 100_000


def ring_sum(comm, tensor):
    raise Odd
