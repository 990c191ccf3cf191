"""Runs a Python program as a user without rights, for the graders' tests when these run as root."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["command", "why_not"]

NOBODY = "65534"
# What whispers leave behind vanishes with this program: System V IPC is its own, and /tmp unless the course lies there.
# The interpreter may live in root's home folder, which others cannot enter: show that folder alone, in a mount
# namespace of this program.
SETUP = """
set -e
mount --make-rprivate /
case {python} in /tmp/*) ;; *) mount -t tmpfs -o mode=1777 none /tmp ;; esac
if ! setpriv --reuid {user} --regid {user} --clear-groups test -x {python}; then
    mkdir -p /mnt/python && mount --bind {prefix} /mnt/python
    mount -t tmpfs -o mode=755 none /root
    mkdir -p {prefix} && mount --bind /mnt/python {prefix}
fi
exec setpriv --reuid {user} --regid {user} --clear-groups --inh-caps=-all "$0" "$@"
"""


def command(*arguments: str) -> list[str]:
    """The command that runs this interpreter with these arguments as nobody; as oneself where one is not root."""
    if os.geteuid() != 0:
        return [sys.executable, *arguments]
    prefix = Path(sys.executable).resolve().parents[1]
    script = SETUP.format(user=NOBODY, python=sys.executable, prefix=prefix)
    return ["unshare", "--mount", "--ipc", "sh", "-c", script, sys.executable, *arguments]


@functools.cache
def why_not() -> str:
    """Why this cannot be had here; empty if it can."""
    if os.geteuid() != 0:
        return ""
    if not (shutil.which("unshare") and shutil.which("setpriv")):
        return "needs unshare and setpriv"
    done = subprocess.run(command("-c", "import torch"), capture_output=True, text=True)
    return f"nobody cannot run this Python: {done.stderr[-200:]}" if done.returncode else ""
