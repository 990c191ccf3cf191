"""`course doctor`: whether this machine can run the course, in plain words, and what to do where it cannot."""

import sys

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from course_lib.cli.health import GOOD, NOTE, PROBLEM, examine

__all__ = ["doctor"]

SIGNS = {GOOD: "[green]good[/]", NOTE: "[yellow]note[/]", PROBLEM: "[bold red]problem[/]"}


@click.command()
def doctor() -> None:
    """Say whether this machine can run the course, and what to do where it cannot. Exit status 1 if it cannot."""
    console = Console(highlight=False)
    with console.status("Examining this machine, and starting two ranks on it ..."):
        findings = list(examine())
    table = Table(title="Can this machine run the course?", title_justify="left", show_header=False, box=None)
    for finding in findings:
        advice = f"\n[italic]{escape(finding.advice)}[/]" if finding.advice else ""
        table.add_row(SIGNS[finding.level], finding.subject, escape(finding.found) + advice)
    console.print(table)
    problems = [finding.subject for finding in findings if finding.level == PROBLEM]
    if problems:
        console.print(f"Not yet: see {', '.join(problems)} above.")
        sys.exit(1)
    console.print("Yes. Start with `make lab`.")
