"""`course new-exercise` and `course new-chapter`: drafts that run at once, made from the templates in `skeletons/`."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template, ascii_lowercase
from typing import Any

import click

from course_lib.cli.build import derived_text

FOLDER = Path(__file__).with_name("skeletons")
MARK = "%% "  # begins a cell: its id, its kind and, after a comma each, its tags


def fill(template: str, **values: object) -> str:
    """The text of a template, with these values in it.

    >>> print(fill("contents.py", number=14, title="A chapter"), end="")
    \"\"\"The exercises of chapter 14: A chapter.\"\"\"
    """
    return Template((FOLDER / f"{template}.txt").read_text(encoding="utf-8")).substitute(values)


def filled_cells(template: str, **values: object) -> list[Any]:
    """The notebook cells of a template.

    >>> [cell.id for cell in filled_cells("exercise_cells", id="04b", letter="b", function="f", title="T", points=3)]
    ['b', 'b-answer', 'b-check-why', 'b-check']
    """
    from nbformat import from_dict

    cells = []
    for part in ("\n" + fill(template, **values)).split("\n" + MARK)[1:]:
        head, _, source = part.partition("\n")
        name, kind, *tags = head.split(" ")
        metadata = {"tags": tags[0].split(",")} if tags else {}
        cell = {"id": name, "cell_type": kind, "metadata": metadata, "source": source.removesuffix("\n")}
        cells.append(from_dict(cell | ({"outputs": [], "execution_count": None} if kind == "code" else {})))
    return cells


def new_notebook(template: str, **values: object) -> str:
    """The text of a notebook of these cells, in normal form."""
    from nbformat import v4

    from course_lib.notebooks import normal_text

    return normal_text(v4.new_notebook(cells=filled_cells(template, **values)))


def write_new(path: Path, text: str) -> bool:
    """Write a file unless there is one, which stays as it is; says what was done."""
    if path.exists():
        click.echo(f"kept  {path}")
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    click.echo(f"wrote {path}")
    return True


# --- `course new-exercise 04b`: an exercise that runs at once, as a draft, with its cells and a right answer.


POINTS = 3
EXERCISES = Path("solutions", "exercises")
AFTERWARDS = """
{id} is a draft. Write, in this order,
1. the page: solutions/{stem}.ipynb, then `course build`;
2. the exercise: its cases, rules and mistakes in {file};
3. two or three right answers, written differently: solutions/catalogue/{id}.py;
and take `draft=True` out of it. pytest tests/grading/test_exercises.py -k "{id}" says what is missing."""


@click.command()
@click.argument("exercise_id", metavar="ID")
@click.option("--function", help="The name that the student defines; `draft_b` if not given.")
@click.option("--title", help='What the exercise is called; "Draft b" if not given.')
@click.option("--points", type=int, default=POINTS, show_default=True)
@click.option("--ranks/--no-ranks", default=True, help="Whether ranks run the function, or it is called by itself.")
def new_exercise(exercise_id: str, function: str | None, title: str | None, points: int, ranks: bool) -> None:
    """Make the exercise ID, for example 04b, in this clone: its file, its cells, a right answer, all running."""
    add_exercise(Path(), exercise_id, function, title, points, ranks)


def add_exercise(
    root: Path, exercise_id: str, function: str | None, title: str | None, points: int, ranks: bool = True
) -> None:
    """Write all that belongs to a new exercise, under `root`.

    Raises:
        click.ClickException: if the id is none, its chapter is not there, or the exercise is.
    """
    found = re.fullmatch(r"(\d\d)([a-z])", exercise_id)
    if not found:
        raise click.ClickException(f"an exercise's id is a chapter and a letter, like 04b, got {exercise_id!r}")
    chapter, letter = found.groups()
    function, title = function or f"draft_{letter}", title or f"Draft {letter}"
    if not function.isidentifier():
        raise click.ClickException(f"a function's name is a Python identifier, got {function!r}")
    package, solution = root / EXERCISES / f"chapter_{chapter}", _solution_of(root, chapter)
    if not (package / "__init__.py").exists() or solution is None:
        raise click.ClickException(f"there is no chapter {chapter} here; `course new-chapter {chapter} NAME` makes it")
    _refuse_what_is_taken(package, chapter, letter, function)
    values = {"id": exercise_id, "letter": letter, "function": function, "title": title, "points": points}
    file, kind = package / f"{letter}_{function}.py", "exercise" if ranks else "function"
    write_new(file, fill(f"{kind}.py", **values))
    _add_to_page(solution, values, filled_cells(f"{kind}_cells", **values))
    write_new(solution.parent / "catalogue" / f"{exercise_id}.py", fill(f"{kind}_answers.py", **values))
    page = root / "exercises" / solution.name
    page.parent.mkdir(exist_ok=True)
    page.write_text(derived_text(solution), encoding="utf-8")
    click.echo(f"built {page}\n{AFTERWARDS.format(id=exercise_id, stem=solution.stem, file=file)}")


def _refuse_what_is_taken(package: Path, chapter: str, letter: str, function: str) -> None:
    """An exercise's letter, and the function that its answer defines, are its own on the chapter's page."""
    there = {path.name[0]: path for path in package.glob("[a-z]_*.py")}
    if letter in there:
        free = next((each for each in ascii_lowercase if each not in there), "")
        hint = f"; {chapter}{free} is free" if free else ""
        raise click.ClickException(f"{chapter}{letter} is there already: {there[letter]}{hint}")
    for path in there.values():
        words = f"{path.stem[2:]}\n{path.read_text(encoding='utf-8')}"
        if re.search(rf"\b{re.escape(function)}\b", words):
            raise click.ClickException(f"{function} stands in {path} already: give the function a name of its own")


def _solution_of(root: Path, chapter: str) -> Path | None:
    return next(iter(sorted((root / "solutions").glob(f"{chapter}_*.ipynb"))), None)


def _add_to_page(path: Path, values: dict[str, Any], new: list[Any]) -> None:
    """The exercise's cells in their place, and its row in the table."""
    import nbformat

    from course_lib.notebooks import normal_text

    notebook = nbformat.read(path, as_version=4)
    cells = {cell.id: cell for cell in notebook.cells}
    row = "| [{letter}](#{letter}) | {what} | {points} |".format(**values, what=_in_lower_case(values["title"]))
    cells["title"].source = _with_row(cells["title"].source, row)
    later = [place for place, cell in enumerate(notebook.cells) if _comes_after(cell.id, values["letter"])]
    notebook.cells[later[0] : later[0]] = new
    path.write_text(normal_text(notebook), encoding="utf-8")
    click.echo(f"wrote {path}")


def _in_lower_case(title: str) -> str:
    """This title as a row of the table has it.

    >>> _in_lower_case("Columns of a halo"), _in_lower_case("SUMMA"), _in_lower_case("AllReduce in steps")
    ('columns of a halo', 'SUMMA', 'AllReduce in steps')
    """
    begins = title.split(" ")[0]
    return title if begins[1:] != begins[1:].lower() else title[:1].lower() + title[1:]


def _comes_after(cell_id: str, letter: str) -> bool:
    """Whether a cell belongs to a later exercise, or to the end of the page."""
    return cell_id == "end" or (len(cell_id) == 1 and cell_id > letter)


def _with_row(text: str, row: str) -> str:
    """This text with a row more in its table, in the order of letters; the row of the sum comes last."""
    lines = text.split("\n")
    last = next(place for place, line in enumerate(lines) if line.startswith("| | | **"))
    later = (place for place, line in enumerate(lines[:last]) if line.startswith("| [") and line > row)
    lines.insert(next(later, last), row)
    return "\n".join(lines)


# --- `course new-chapter 04 model_parallel`: a chapter's package, page, figures, tests and first exercise, all running.


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
    write_new(library / "draw" / "chapters" / f"{name}.py", fill("drawing.py", **values))
    write_new(root / "tests" / name / "test_passing.py", fill("test_passing.py", **values))
    write_new(root / "tests" / "draw" / f"test_{name}.py", fill("test_drawing.py", **values))


def _write_lecture(path: Path, values: dict[str, object], run: bool) -> None:
    from course_lib.notebooks import execute, normal_text

    if write_new(path, new_notebook("lecture_cells", **values)) and run:
        path.write_text(normal_text(execute(path)), encoding="utf-8")
    click.echo("The page is a draft: take the tag `draft` off its first cell when it is written.")
