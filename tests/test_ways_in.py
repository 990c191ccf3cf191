"""The ways in that need no clone of one's own: the pages for Colab, and the container of Codespaces and VS Code."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from course_lib.cli import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for folder in ("notebooks", "exercises") for path in (ROOT / folder).glob("*.ipynb"))
ADDRESS = "https://github.com/somebody/course"
# What Colab has of what the pages import; its packages stand in the repository googlecolab/backend-info.
ON_COLAB = {"course_lib", "torch", "numpy", "sklearn", "psutil", "matplotlib"}
# In the normal form a line of a cell is a line of the file.
IMPORT = re.compile(r'^ +" *(?:import (\w+)(?:\.\w+)*(?: as \w+)?(?:\\n)?"|from (\w+)(?:\.\w+)* import )', re.MULTILINE)
SMALL = {"notebooks/02_allreduce.ipynb", "exercises/02_allreduce.ipynb"}


def for_colab(address: str, out: Path, script: Path = ROOT / "book/colab.py") -> subprocess.CompletedProcess[str]:
    """Call the script by a bare interpreter, as the workflow does, which has none of the course's packages."""
    command = [sys.executable, "-I", "-S", str(script), address, str(out)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A course of one lecture and one chapter's exercises."""
    (tmp_path / "course/book").mkdir(parents=True)
    for name in ("book/colab.py", "notebooks/02_allreduce.ipynb", "exercises/02_allreduce.ipynb"):
        (tmp_path / "course" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "course" / name).symlink_to(ROOT / name)
    return tmp_path / "course"


def test_colab_s_pages_are_the_course_s_with_one_cell_in_front(small: Path, tmp_path: Path) -> None:
    done = for_colab(ADDRESS, tmp_path / "out", small / "book/colab.py")
    assert done.returncode == 0, done.stderr
    assert {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")} == SMALL
    for name in SMALL:
        page, its = (json.loads((folder / name).read_text(encoding="utf-8")) for folder in (ROOT, tmp_path / "out"))
        first, *rest = its.pop("cells")
        assert rest == page.pop("cells")
        assert its == page
        assert f"git clone --quiet --depth 1 {ADDRESS} course" in "".join(first["source"])
        assert first["id"] not in {cell["id"] for cell in rest}


def test_colab_has_or_gets_what_the_pages_import() -> None:
    wanted = {name for page in PAGES for found in IMPORT.findall(page.read_text(encoding="utf-8")) for name in found}
    [installed] = re.findall(r'^LACKING = "(.*)"$', (ROOT / "book/colab.py").read_text(), re.MULTILINE)
    assert wanted - ON_COLAB - sys.stdlib_module_names - {""} == set(installed.split())


@pytest.mark.parametrize("address", ["ADDRESS-OF-THIS-REPOSITORY", "https://a b", "https://a;rm", "https://a/$HOME"])
def test_what_is_no_address_gets_no_cell(address: str, tmp_path: Path) -> None:
    done = for_colab(address, tmp_path / "pages")
    assert done.returncode != 0
    assert "should be one that git can clone" in done.stderr
    assert not (tmp_path / "pages").exists()


def test_the_workflow_pushes_what_the_script_writes(small: Path, tmp_path: Path) -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/book.yml").read_text(encoding="utf-8"))["jobs"].values()
    [job] = [job for job in jobs if job.get("permissions") == {"contents": "write"}]
    [script] = [step["run"] for step in job["steps"] if "run" in step]
    github, config = tmp_path / "github", tmp_path / "gitconfig"
    subprocess.run(["git", "init", "--quiet", "--bare", github], check=True)
    told = "https://x-access-token:secret@github.com/somebody/course"
    config.write_text(f'[url "{github}"]\n  insteadOf = {told}\n', encoding="utf-8")
    env = os.environ | {"COURSE_REPOSITORY": ADDRESS, "TOKEN": "secret", "GIT_CONFIG_GLOBAL": str(config)}
    subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=small, env=env, check=True)
    listed = ["git", "-C", github, "ls-tree", "-r", "--name-only", "colab"]
    assert set(subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()) == SMALL


def test_the_book_s_button_leads_to_the_branch_and_is_there_only_with_an_address() -> None:
    code = "import conf; print(conf.html_theme_options['launch_buttons'], conf.html_theme_options['repository_branch'])"
    for extra, expected in (
        ({}, "{}"),
        ({"COURSE_REPOSITORY": ADDRESS}, "{'colab_url': 'https://colab.research.google.com'}"),
    ):
        env = {name: value for name, value in os.environ.items() if name != "COURSE_REPOSITORY"} | extra
        said = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "book", env=env, capture_output=True, text=True)
        assert said.stdout == f"{expected} colab\n"


def test_the_container_s_commands_and_files_are_there() -> None:
    said = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    calls = " && ".join(said[name] for name in said if name.endswith("Command")).split(" && ")
    for program, name, *_ in (call.split() for call in calls):
        assert name in (targets if program == "make" else COMMANDS)
        assert program in ("make", ".venv/bin/course")
    containerfile = (ROOT / "Containerfile").read_text(encoding="utf-8")
    assert f"PIP_EXTRA_INDEX_URL={said['containerEnv']['PIP_EXTRA_INDEX_URL']}" in containerfile
    assert said["image"].endswith(":" + re.search(r"FROM python:(3\.\d+)-slim(-\w+)", containerfile).expand(r"\1\2"))


@pytest.mark.slow
def test_the_classrooms_workflow_grades_a_desk_and_writes_its_comment(tmp_path: Path) -> None:
    """Its step "grade" as it stands; here, where everybody is root, `sudo` is a program that does as it is told."""
    steps = yaml.safe_load((ROOT / "docs/classroom.yml").read_text(encoding="utf-8"))["jobs"]["grade"]["steps"]
    [grade] = [step["run"] for step in steps if step.get("name") == "grade"]
    page = json.loads((ROOT / "exercises/02_allreduce.ipynb").read_text(encoding="utf-8"))
    solved = json.loads((ROOT / "solutions/02_allreduce.ipynb").read_text(encoding="utf-8"))
    [answer] = [cell["source"] for cell in solved["cells"] if cell["id"] == "a-answer"]
    next(cell for cell in page["cells"] if cell["id"] == "a-answer")["source"] = answer
    (tmp_path / "desk/exercises").mkdir(parents=True)
    (tmp_path / "desk/exercises/02_allreduce.ipynb").write_text(json.dumps(page), encoding="utf-8")
    (tmp_path / "course/.venv/bin").mkdir(parents=True)
    (tmp_path / "course/.venv/bin/python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@" --unsafe\n')
    (tmp_path / "sudo").write_text('#!/bin/sh\nshift\nexec "$@"\n')
    for program in (tmp_path / "sudo", tmp_path / "course/.venv/bin/python"):
        program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    settings = os.environ | {"PATH": path, "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-e", "-c", grade], cwd=tmp_path, env=settings, capture_output=True, text=True)
    comment = (tmp_path / "comment.md").read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert comment.startswith("```text\n")
    assert comment.endswith("```\n")
    assert re.search(r"exercises +2 +0 +0 .* 2 *$", comment, re.MULTILINE), comment
    assert (tmp_path / "grades/grades.csv").exists()
