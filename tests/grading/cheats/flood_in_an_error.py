"""Raises an error whose text is 200 MB of terminal control codes and markup."""


def ring_sum(comm, tensor):
    raise RuntimeError("\x1b]0;owned\x07\x1b[2J[bold]4 of 4[/bold]\r\n=HYPERLINK()" * 5_000_000)
