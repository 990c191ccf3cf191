"""Never ends, and catches the alarm that would tell it to."""

import signal


def ring_sum(comm, tensor):
    signal.signal(signal.SIGPROF, signal.SIG_IGN)
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
