"""Hosts on this machine: network namespaces, each with a name, a loopback, an interface eth0 and an address."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

NETWORK = "10.78.0"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextlib.contextmanager
def hosts(count: int) -> Iterator[list[str]]:
    """So many hosts at one switch; their names. Needs root and Linux's veth and bridge, else the test is skipped."""
    if shutil.which("ip") is None or shutil.which("tc") is None or os.geteuid() != 0:
        pytest.skip("making hosts of network namespaces needs root and the commands ip and tc (Debian: iproute2)")
    names = [f"check{os.getpid()}{letter}" for letter in "abcdef"[:count]]
    switch = f"check{os.getpid()}s"
    try:
        ip("netns", "add", switch)
        ip("-n", switch, "link", "add", "bridge0", "type", "bridge")
        ip("-n", switch, "link", "set", "bridge0", "up")
        for number, name in enumerate(names, start=1):
            ip("netns", "add", name)
            ip("link", "add", "eth0", "netns", name, "type", "veth", "peer", f"port{number}", "netns", switch)
            ip("-n", switch, "link", "set", f"port{number}", "master", "bridge0", "up")
            ip("-n", name, "addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this machine makes no network namespaces: {error.stderr.decode().strip()}")
    finally:
        for name in [*names, switch]:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def on(name: str) -> list[str]:
    """The beginning of a command that runs on a host, under a host name of its own."""
    host = f"host-{name[-1]}"
    return ["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c", f'hostname {host}; exec "$@"', "sh"]


def slow_down(name: str, rate: str) -> None:
    """Let a host's cable carry so much and no more, in both directions: tc's token bucket."""
    bucket = ["root", "tbf", "rate", rate, "burst", "16kb", "latency", "400ms"]
    port = f"port{'abcdef'.index(name[-1]) + 1}"
    for command in (
        ["tc", "-n", name, "qdisc", "add", "dev", "eth0"],
        ["tc", "-n", name[:-1] + "s", "qdisc", "add", "dev", port],
    ):
        done = subprocess.run([*command, *bucket], capture_output=True)
        if done.returncode:
            pytest.skip(f"this kernel slows no link (tc, tbf): {done.stderr.decode().strip()}")
