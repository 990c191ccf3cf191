"""Ends its process without a word, with a good exit code."""

import os


def ring_sum(comm, tensor):
    os._exit(0)
