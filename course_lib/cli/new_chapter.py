"""`course new-chapter 04 model_parallel`: a chapter's package, page, figures, tests and first exercise, all running."""

from __future__ import annotations

from pathlib import Path

import click

from course_lib.cli.new_exercise import EXERCISES, POINTS, add_exercise
from course_lib.cli.skeleton import fill, new_notebook, write_new

__all__ = ["new_chapter"]


@click.command()
@click.argument("chapter", metavar="NN")
@click.argument("name")
@click.option("--title", help="What the chapter is called; made of NAME if not given.")
@click.option("--execute/--no-execute", default=True, help="Whether to run the new page, so that it has outputs.")
def new_chapter(chapter: str, name: str, title: str | None, execute: bool) -> None:
    """Make chapter NN in this clone, whose package is NAME, a noun: what is there already stays as it is."""
    if not (len(chapter) == 2 and chapter.isdecimal()):
        raise click.ClickException(f"a chapter's number has two digits, like 04, got {chapter!r}")
    if not (name.isidentifier() and name.islower()):
        raise click.ClickException(f"a package's name is a lowercase Python identifier, got {name!r}")
    root = Path()
    if not (root / EXERCISES).is_dir():
        raise click.ClickException(f"this is no clone of the course: {root.resolve() / EXERCISES} is not there")
    other = [path.name for path in sorted((root / "solutions").glob(f"{chapter}_*.ipynb"))]
    if other:
        raise click.ClickException(f"chapter {chapter} is there already: solutions/{other[0]}")
    title = title or name.replace("_", " ").capitalize()
    values = {"chapter": chapter, "number": int(chapter), "name": name, "title": title}
    _write_library(root, name, values)
    write_new(root / EXERCISES / f"chapter_{chapter}" / "__init__.py", fill("contents.py", **values))
    write_new(root / "solutions" / f"{chapter}_{name}.ipynb", new_notebook("solutions_cells", **values))
    add_exercise(root, f"{chapter}a", None, None, POINTS)
    _write_lecture(root / "notebooks" / f"{chapter}_{name}.ipynb", values, execute)


def _write_library(root: Path, name: str, values: dict[str, object]) -> None:
    """The lesson's package, its figures, and their tests; nothing where the package is there."""
    library = root / "course_lib"
    if (library / name).exists():
        click.echo(f"kept  {library / name}, its figures and its tests")
        return
    write_new(library / name / "__init__.py", fill("package.py", **values))
    write_new(library / name / "passing.py", fill("passing.py", **values))
    write_new(library / name / "chapter.json", '{"builds_on": []}\n')
    write_new(library / "draw" / f"{name}.py", fill("drawing.py", **values))
    write_new(root / "tests" / name / "test_passing.py", fill("test_passing.py", **values))
    write_new(root / "tests" / "draw" / f"test_{name}.py", fill("test_drawing.py", **values))


def _write_lecture(path: Path, values: dict[str, object], run: bool) -> None:
    from course_lib.notebooks import execute, normal_text

    if write_new(path, new_notebook("lecture_cells", **values)) and run:
        path.write_text(normal_text(execute(path)), encoding="utf-8")
    click.echo("The page is a draft: take the tag `draft` off its first cell when it is written.")
