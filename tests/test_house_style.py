"""What CONTRIBUTING.md promises about the code, where a machine can tell."""

import ast
import functools
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from course_lib.chapters import chapters

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "course_lib").rglob("*.py"))
LONGEST_FUNCTION = 40
# Imports go down: a module may import its own floor and those below.
FLOORS = {
    "chapters": 1,
    "checks": 1,
    "comm": 1,
    "files": 1,
    "cluster_check": 3,
    "planning": 3,
    "draw": 3,
    "widgets": 3,
    "grading": 4,
    "desk": 4,
    "cli": 4,
    "notebooks": 4,
    "__main__": 4,
}
LECTURE_FLOOR = 2
# What others may use of these two packages, the first one lists.
JUDGE, SANDBOX = "course_lib.grading.judge", "course_lib.grading.sandbox"
# What every chapter may import, beside those that its chapter.json names.
GROUND = {"checks", "comm", "files", "flops", "live_memory", "published", "replay", "tasks"}
CHAPTERS = {chapter.name: chapter for chapter in chapters()}
# The package whose names another one takes by `import *`.
STARRED = ROOT / "course_lib" / "comm" / "__init__.py"
# Packages whose table of contents is `ls`: put yours here when it has few files.
SHORT = [
    "cli",
    "cluster_check",
    "collectives",
    "comm",
    "data_parallel",
    "draw",
    "parameter_server",
    "planning",
    "tasks",
]
SHORT += [
    "desk",
    "grading",
    *(f"grading/{part}" for part in ("judge", "sandbox", "rehearsal", "reports", "submissions")),
]
MOST_FILES = 12
PACKAGES = sorted(str(path.parent.relative_to(ROOT / "course_lib")) for path in MODULES if path.name == "__init__.py")
# Class names that stand twice, with what is to be said for it.
NAMED_TWICE = {
    "Message": "pages print a trace's `Message`, and make those of a parameter server as `ps.Message`",
}
ONLY_FOR_PICTURES_AND_COMMANDS = {"IPython", "ipywidgets", "matplotlib", "click", "rich", "nbformat", "jupyter_client"}


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def offenders(found: Callable[[Path], Iterable[str]]) -> dict[str, list[str]]:
    """Return what is found amiss in each module where something is."""
    each = {str(path.relative_to(ROOT)): sorted(found(path)) for path in MODULES}
    return {name: what for name, what in each.items() if what}


def floor(module: str) -> int:
    """Return the floor of `course_lib.x.y`; `course_lib` itself gives what floor 1 has."""
    parts = module.split(".")
    return FLOORS.get(parts[1], LECTURE_FLOOR) if len(parts) > 1 else 1


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the function's lines without its docstring."""
    doc = ast.get_docstring(function, clean=False)
    return function.end_lineno - function.lineno + 1 - (len(doc.splitlines()) if doc else 0)


def imported(tree: ast.AST) -> set[str]:
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name for name in names if name.split(".")[0] == "course_lib"}


def listed(path: Path) -> set[str]:
    """Return what `__all__` lists; nothing where it is computed, or missing."""
    assigned = [n for n in parsed(path).body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__"]
    return {
        ast.literal_eval(entry) for each in assigned if isinstance(each.value, ast.List) for entry in each.value.elts
    }


def public_names(path: Path) -> set[str]:
    """Return what `__all__` lists, and what the module defines and imports without an underscore."""
    tree = parsed(path)
    names = listed(path)
    names |= {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    return names | {a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}


def test_no_function_is_longer_than_forty_lines() -> None:
    def too_long(path: Path) -> list[str]:
        functions = [n for n in ast.walk(parsed(path)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        return [f"line {f.lineno}, {f.name}: {length(f)}" for f in functions if length(f) > LONGEST_FUNCTION]

    assert offenders(too_long) == {}


def test_a_text_that_may_be_there_says_if() -> None:
    def flagged(path: Path) -> list[str]:
        products = (node for node in ast.walk(parsed(path)) if isinstance(node, ast.BinOp))
        return [ast.unparse(node) for node in products if _is_text(node.left) and _is_flag(node.right)]

    assert offenders(flagged) == {}, 'write ("text" if flag else "")'


def test_three_values_are_assigned_in_three_lines() -> None:
    def at_once(path: Path) -> list[str]:
        pairs = ((n.targets[0], n.value) for n in ast.walk(parsed(path)) if isinstance(n, ast.Assign))
        both = [(to, value) for to, value in pairs if isinstance(to, ast.Tuple) and isinstance(value, ast.Tuple)]
        return [f"line {to.lineno}: {ast.unparse(to)}" for to, value in both if len(value.elts) > 2]

    assert offenders(at_once) == {}


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_flag(node: ast.expr) -> bool:
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bool"
    return (
        named
        or isinstance(node, ast.Compare | ast.BoolOp)
        or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
    )


def test_imports_go_down() -> None:
    def upward(path: Path) -> list[str]:
        own = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        allowed = floor(own) if own != "course_lib" else LECTURE_FLOOR
        return [name for name in imported(parsed(path)) if floor(name) > allowed]

    assert offenders(upward) == {}


def test_the_judge_and_its_sandbox_have_one_door() -> None:
    names = listed(ROOT / "course_lib" / "grading" / "judge" / "__init__.py")
    behind = [ROOT / "course_lib" / "grading" / part for part in ("judge", "sandbox")]

    def inner(path: Path) -> list[str]:
        if path.parent in behind:
            return []
        used = [n for n in ast.walk(parsed(path)) if isinstance(n, ast.ImportFrom) and n.module == JUDGE]
        beyond = [f"{JUDGE}.{a.name}" for n in used for a in n.names if a.name not in names]
        walled = (f"{JUDGE}.", SANDBOX)
        return beyond + [name for name in imported(parsed(path)) if name.startswith(walled)]

    assert offenders(inner) == {}, f"import from {JUDGE} what it lists"


def test_the_door_gives_what_it_lists() -> None:
    judge = importlib.import_module(JUDGE)
    assert {name for name in judge.__all__ if getattr(judge, name) is not None} == set(judge._MODULE_OF)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_imports_the_ground_and_the_chapters_it_builds_on(name: str) -> None:
    files = (ROOT / "course_lib" / name).rglob("*.py")
    parts = {part.split(".")[1] for path in files for part in imported(parsed(path)) if "." in part}
    assert parts <= GROUND | {name, *CHAPTERS[name].builds_on}


def test_chapters_build_on_each_other_in_one_direction() -> None:
    placed: list[str] = []
    while ready := [name for name in CHAPTERS if name not in placed and set(CHAPTERS[name].builds_on) <= set(placed)]:
        placed += ready
    assert set(placed) == set(CHAPTERS)


def test_the_ground_names_no_chapter() -> None:
    def named(path: Path) -> list[str]:
        text = path.read_text(encoding="utf-8")
        part = path.relative_to(ROOT / "course_lib").with_suffix("").parts[0]
        return [name for name in CHAPTERS if f"course_lib.{name}" in text] if part in GROUND else []

    assert offenders(named) == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_name_hides_a_module(package: str) -> None:
    folder = ROOT / "course_lib" / package
    modules = {path.stem for path in folder.glob("*.py")} | {path.name for path in folder.iterdir() if path.is_dir()}
    assert public_names(folder / "__init__.py") & modules == set()


def test_a_module_has_no_list_of_names_where_the_underscore_says_the_same() -> None:
    def repeated(path: Path) -> list[str]:
        targets = [t for n in parsed(path).body if isinstance(n, ast.Assign) for t in n.targets]
        own = {t.id for t in targets if isinstance(t, ast.Name)}
        own |= {n.name for n in parsed(path).body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        if path.name != "__init__.py":
            return sorted(listed(path)) if listed(path) <= own else []
        # A package gives what it imports, too. One that lists fewer names, or some that are read late, says more.
        public = {name for name in own | public_names(path) if not name.startswith("_")} - {"annotations"}
        imports = [n for n in parsed(path).body if isinstance(n, ast.Import)]
        return sorted(listed(path)) if listed(path) == public and not imports and path != STARRED else []

    assert offenders(repeated) == {}, "take `__all__` away: a name without an underscore is public"


def test_a_class_name_is_defined_once() -> None:
    # A name with an underscore is its file's own.
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert {name: where for name, where in twice.items() if name not in NAMED_TWICE} == {}
    assert set(NAMED_TWICE) <= set(twice), "take away what no longer stands twice"


@pytest.mark.parametrize("package", SHORT)
def test_a_package_has_at_most_twelve_files_at_its_top(package: str) -> None:
    files = sorted(path.name for path in (ROOT / "course_lib" / package).glob("*.py"))
    assert len(files) <= MOST_FILES, files


def test_the_library_imports_without_what_only_pictures_and_commands_need() -> None:
    code = "import course_lib, course_lib.collectives, sys; print(*{m.split('.')[0] for m in sys.modules})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(out.split()) & ONLY_FOR_PICTURES_AND_COMMANDS == set()
