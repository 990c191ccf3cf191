"""Stops (does not kill) the process it was forked from, so that nothing would ever answer again."""

import os
import signal


def ring_sum(comm, tensor):
    os.kill(os.getppid(), signal.SIGSTOP)
