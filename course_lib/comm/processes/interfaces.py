"""Which network interface Gloo is to use."""

from __future__ import annotations

import contextlib
import socket
import sys

import psutil

from course_lib.comm.errors import CommError

__all__ = ["LOOPBACK", "interface_to_others"]

LOOPBACK = {"win32": "", "darwin": "lo0"}.get(sys.platform, "lo")  # the name of the loopback; "" where it has none


def interface_to_others() -> str:
    """The network interface that Gloo must be told of, because it would take the loopback; "" if it need not be told.

    Gloo takes the interface that the machine's own name stands for, and many systems let it stand for 127.0.0.1.

    Raises:
        CommError: if there are several to choose from.
    """
    with contextlib.suppress(OSError):
        if not socket.gethostbyname(socket.gethostname()).startswith("127."):
            return ""
    found = [
        name
        for name, addresses in psutil.net_if_addrs().items()
        if any(one.family == socket.AF_INET and not one.address.startswith("127.") for one in addresses)
    ]
    if len(found) != 1:
        raise CommError(
            f"this machine ({socket.gethostname()}) has the network interfaces {', '.join(found) or 'lo only'}, and "
            "ranks of other machines cannot reach the loopback that its name stands for. Name the interface that the "
            "machines share, on each of them, as in\n  export GLOO_SOCKET_IFNAME=eth0"
        )
    return found[0]
