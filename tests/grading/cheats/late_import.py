"""Imports modules that were not loaded, to get at processes and networks."""


def ring_sum(comm, tensor):
    import ftplib
    import subprocess

    subprocess.run(["/bin/sh", "-c", "true"], check=True)
    ftplib.FTP("127.0.0.1")
