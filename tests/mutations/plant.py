"""Plants the bugs of planted_bugs.py, one after the other, and says by which tests of a command each is caught.

    python -m tests.mutations.plant                                  `make test` for each of them: a night's work
    python -m tests.mutations.plant --listed                         only the tests that the list names: some minutes
    python -m tests.mutations.plant --only ID,ID -- make test-unit   these bugs, another command

They are planted in a copy, a git worktree in a temporary folder with all that you have not committed. Your own files
are never changed, so an interrupt leaves no bug behind, and the copy goes with this process.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.mutations.planted_bugs import BUGS, Bug

ROOT = Path(__file__).parents[2]
FAILED = re.compile(r"^(?:FAILED|ERROR|failed twice:) (.+?)(?: - .*)?$", re.MULTILINE)
# make compares these with what it has put into the environment, which the copy shares: there they must look old.
INSTALLED_FROM = ("constraints.txt", "pyproject.toml", ".jupyterlab-settings.json", ".jupyterlab/kernel_startup.py")
LIMIT_S = 3 * 3600


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


@contextmanager
def copy_of_the_clone() -> Iterator[Path]:
    """A worktree with what is committed and what is not, and with this environment."""
    git("worktree", "prune")
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        copy = Path(folder, "clone")
        try:
            git("worktree", "add", "--quiet", "--detach", str(copy))
            names = git("diff", "--name-only", "-z", "HEAD") + git("ls-files", "-z", "--others", "--exclude-standard")
            for name in filter(None, names.split("\0")):
                (copy / name).unlink(missing_ok=True)
                if (ROOT / name).exists():
                    (copy / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
            for name in INSTALLED_FROM:
                os.utime(copy / name, (0, 0))
            (copy / ".venv").symlink_to(Path(sys.prefix).resolve())
            yield copy
        finally:
            git("worktree", "remove", "--force", str(copy))


@contextmanager
def planted(copy: Path, bug: Bug) -> Iterator[None]:
    """The bug is in the copy, in the block only."""
    path = copy / bug.file
    right = path.read_text(encoding="utf-8")
    if right.count(bug.old) != 1:
        raise SystemExit(f"{bug.id}: its old text stands {right.count(bug.old)} times in {bug.file}, not once")
    try:
        _write(path, right.replace(bug.old, bug.new))
        yield
    finally:
        _write(path, right)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):  # may look as young, and be as long
        compiled.unlink()


def failures(copy: Path, command: Sequence[str]) -> list[str]:
    """The tests of this command that fail in the copy; what else is wrong with it counts as one."""
    environment = os.environ | {"PYTHONPATH": str(copy)}
    process = subprocess.Popen(
        command,
        cwd=copy,
        env=environment,
        text=True,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        told = process.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        return [f"(no end within {LIMIT_S} s)"]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    found = list(dict.fromkeys(FAILED.findall(told)))
    return found or ([f"(exit status {process.returncode}) {told[-300:]}"] if process.returncode else [])


def command_for(tests: Iterable[str]) -> list[str]:
    """Runs these tests; of a page all cells, for none runs alone."""
    names = list(dict.fromkeys(re.sub(r"(\.ipynb)::.*", r"\1", test) for test in tests))
    pages = [name for name in names if name.endswith(".ipynb")]
    nbval = ["--nbval-lax", "--nbval-sanitize-with", "tests/sanitize.cfg"] if pages else ["-p", "no:nbval"]
    doctests = ["--doctest-modules"] if any(name.startswith("course_lib/") for name in names) else []
    return [sys.executable, "-m", "pytest", "-q", *nbval, *doctests, *names]


def try_all(copy: Path, bugs: Sequence[Bug], command: Sequence[str]) -> list[str]:
    """Plant each of these bugs, say what caught it, and return those that nothing caught."""
    if failing := failures(copy, command or command_for(bug.caught_by for bug in bugs)):
        raise SystemExit("Without any bug these fail already:\n  " + "\n  ".join(failing))
    survived = []
    for bug in bugs:
        with planted(copy, bug):
            found = failures(copy, command or command_for([bug.caught_by]))
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        print(f"{bug.id}: " + (f"caught by {found[0]}{more}" if found else "SURVIVED"), flush=True)
        survived += [] if found else [bug.id]
    return survived


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations.plant", description="Plants bugs in a copy.")
    parser.add_argument("--only", default="", metavar="ID,ID", help="these bugs of the list; default: all")
    parser.add_argument("--listed", action="store_true", help="run only the test that the list names for each bug")
    parser.add_argument("command", nargs="*", default=["make", "test"], help="what runs the tests; default: make test")
    chosen = parser.parse_args()
    wanted = [name for name in chosen.only.split(",") if name]
    if unknown := set(wanted) - {bug.id for bug in BUGS}:
        parser.error(f"no such bug: {', '.join(sorted(unknown))}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    bugs = [bug for bug in BUGS if not wanted or bug.id in wanted]
    with copy_of_the_clone() as copy:
        survived = try_all(copy, bugs, [] if chosen.listed else chosen.command)
    print(f"{len(bugs) - len(survived)} of {len(bugs)} caught", *survived[:1] and ["survivors:", *survived])
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
