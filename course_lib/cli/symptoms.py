"""`course symptoms`: the rows of the page of symptoms that fit a log."""

from __future__ import annotations

import re
import sys
from typing import IO, TYPE_CHECKING

import click

if TYPE_CHECKING:
    from course_lib.cli.symptom_rank import Match

__all__ = ["symptoms"]

LIMIT_BYTES = 1_000_000  # so many fours: of UTF-16 and UTF-32, too, the end begins with a whole letter
MARK_BYTES = 4


@click.command()
@click.argument("log", type=click.File("rb"), default="-", metavar="[LOGFILE]")
def symptoms(log: IO[bytes]) -> None:
    """Name the three rows of the page of symptoms that fit LOGFILE best, or what is piped in or pasted."""
    from course_lib.cli.symptom_rank import fitting
    from course_lib.cli.symptom_rows import read_rows
    from course_lib.desk.files import DeskError, course_folder

    try:
        page = (course_folder() / "notebooks" / "symptoms.md").read_text(encoding="utf-8")
        text = _read(log)
    except (DeskError, OSError) as error:
        raise click.ClickException(str(error)) from error
    found = fitting(text, read_rows(page))
    for number, match in enumerate(found, start=1):
        click.echo(_told(number, match))
    if not found:
        click.echo("No row fits. Look under what you see, in notebooks/symptoms.md, or give more of the log.")


def _read(log: IO[bytes]) -> str:
    """The log's last bytes as text."""
    from course_lib.desk.texts import NoText, text_of

    if log is sys.stdin.buffer and sys.stdin.isatty():
        click.echo("Paste the error, then press Enter and Ctrl+D.", err=True)
    begins = content = b""
    cut = False
    while chunk := log.read(LIMIT_BYTES):
        begins = begins or chunk[:MARK_BYTES]
        cut = cut or len(content) + len(chunk) > LIMIT_BYTES
        content = (content + chunk)[-LIMIT_BYTES:]
    if cut:
        click.echo("A long log: its last 1 MB is read.", err=True)
    try:
        return text_of(content, begins)
    except NoText as error:
        raise click.ClickException(f"{error}. Give the log itself, unpacked.") from error


def _told(number: int, match: Match) -> str:
    row = match.row
    section, path, proof = re.fullmatch(r"\[(.+)\]\((.+)\) (.+)", row.where).groups()  # type: ignore[union-attr]
    shown = f"pytest tests/symptoms -k {proof.strip('`')}" if proof.startswith("`") else proof
    first, _, second = row.checks.replace("**", "").partition(" 2. ")
    because = f"   your words: {' '.join(match.because)}\n" if match.because else ""
    cause = f"{number}. {row.group}: {row.cause}\n{because}"
    return f"{cause}   {first}\n   2. {second}\n   section: {section}, notebooks/{path}\n   proof: {shown}\n"
