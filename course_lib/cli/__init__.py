"""The command line: `course doctor`, `course desk`, `course progress`, `course run`, `course check`,
`course symptoms`, `course plan`, `course notebooks`, `course build`, `course new-exercise`,
`course new-chapter`, `course grade`, `course report`, `course similar`, `course term`.

Each command has a module of its own, which is imported when the command is called and not before, so that
`course --help` answers at once and one command that cannot be imported leaves the others working.
"""

import importlib

import click

__all__ = ["COMMANDS", "main"]

# name: (module, attribute, the line that `course --help` shows)
COMMANDS = {
    "doctor": ("course_lib.cli.doctor", "doctor", "Say whether this machine can run the course."),
    "desk": ("course_lib.cli.desk", "desk", "Make a student's desk, or bring it up to date."),
    "progress": ("course_lib.cli.desk", "progress", "Show the desk's chapters, exercises, points and next step."),
    "run": ("course_lib.cli.cluster", "run", "Run a program under torchrun, on one machine or many."),
    "check": ("course_lib.cli.cluster", "check", "Check the machines that torchrun has started ranks on."),
    "symptoms": ("course_lib.cli.symptoms", "symptoms", "Name the rows of symptoms that fit a log."),
    "plan": ("course_lib.cli.cluster", "plan", "Say whether your own model fits, on what, and how fast."),
    "grade": ("course_lib.cli.grading", "grade", "Grade a notebook or a folder of submissions."),
    "report": ("course_lib.cli.grading", "report", "Make pages of the grades, for students and about the class."),
    "similar": ("course_lib.cli.grading", "similar", "Show which answers of a class are alike."),
    "term": ("course_lib.cli.term", "term", "Write a term's syllabus, calendar and notes for the lectures."),
    "build": ("course_lib.cli.build", "build", "Make the exercises from the solutions."),
    "new-exercise": ("course_lib.cli.new", "new_exercise", "Make an exercise that runs, as a draft."),
    "new-chapter": ("course_lib.cli.new", "new_chapter", "Make a chapter that runs, as a draft."),
    "notebooks": ("course_lib.cli.build", "notebooks", "Execute the chapters and store them in normal form."),
}


class LazyGroup(click.Group):
    """A group of commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        try:
            return getattr(importlib.import_module(module), attribute)
        except ImportError as error:
            raise click.ClickException(f"`course {cmd_name}` cannot be loaded: {error}") from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="course_lib", prog_name="course")
def main() -> None:
    """A hands-on course on distributed training."""
