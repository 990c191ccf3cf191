"""Kills the process it was forked from, its process group, and process 1."""

import os
import signal


def ring_sum(comm, tensor):
    problems = []
    for kill in (
        lambda: os.kill(os.getppid(), signal.SIGKILL),
        lambda: os.killpg(0, signal.SIGKILL),
        lambda: os.kill(1, 9),
    ):
        try:
            kill()
        except OSError as error:
            problems.append(error)
    raise problems[0]
