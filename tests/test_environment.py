"""pyproject.toml, constraints.txt, environment.yml and the Makefile describe one environment."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
CONSTRAINTS = (ROOT / "constraints.txt").read_text()
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())
BENCH_HEADING = "# Only for `make bench`"
OLDEST = PROJECT["project"]["requires-python"].removeprefix(">=")


def pins(text: str) -> dict[str, Version]:
    """The pinned versions, without those that other Pythons need."""
    requirements = [Requirement(line) for line in text.splitlines() if line and not line.startswith("#")]
    here = [r for r in requirements if r.marker is None or r.marker.evaluate()]
    return {canonicalize_name(r.name): Version(str(r.specifier).removeprefix("==")) for r in here}


def declared(*extras: str) -> list[Requirement]:
    lists = [PROJECT["project"]["dependencies"], *(EXTRAS[extra] for extra in extras)]
    return [Requirement(text) for lines in lists for text in lines]


def needed_by(requirements: list[Requirement]) -> set[str]:
    """Return the names of all packages that `requirements` bring with them, in this environment.

    What PyTorch itself needs on a GPU machine (nvidia-*, triton) is pinned by PyTorch; macOS and Windows add a few.
    """
    found: set[tuple[str, str]] = set()
    waiting = [(canonicalize_name(r.name), extra) for r in requirements for extra in ["", *r.extras]]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            continue
        for requirement in map(Requirement, lines):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(requirement.name), e) for e in ["", *requirement.extras]]
    return {name for name, _ in found if not re.match(r"nvidia-|triton$|cuda-|appnope$|colorama$|pywin", name)}


def test_constraints_hold_exact_versions_with_torch_first() -> None:
    lines = [line for line in CONSTRAINTS.splitlines() if line and not line.startswith("#")]
    assert lines[0] == "torch==2.13.0"
    assert [
        line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+( ; python_version (<|==) \"3\.12\")?", line)
    ] == []


def test_no_package_is_pinned_twice() -> None:
    names = [canonicalize_name(line.split("==")[0]) for line in CONSTRAINTS.splitlines() if "==" in line]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("requirement", declared(*EXTRAS), ids=str)
def test_each_declared_range_contains_the_pinned_version(requirement: Requirement) -> None:
    assert pins(CONSTRAINTS)[canonicalize_name(requirement.name)] in requirement.specifier


def test_each_pin_is_needed_and_each_need_is_pinned() -> None:
    everyday = pins(CONSTRAINTS.split(BENCH_HEADING)[0])
    assert needed_by(declared("lab", "test", "book")) == set(everyday)


def test_each_pinned_package_installs_on_the_oldest_python_admitted() -> None:
    wanted = {name: metadata(name).get("Requires-Python", "") for name in pins(CONSTRAINTS.split(BENCH_HEADING)[0])}
    assert {name: text for name, text in wanted.items() if f"{OLDEST}.0" not in SpecifierSet(text)} == {}


def test_the_packages_installed_are_the_ones_pinned() -> None:
    different = {}
    for name, pinned in pins(CONSTRAINTS.split(BENCH_HEADING)[0]).items():
        installed = Version(version(name))
        if Version(installed.public) != pinned:
            different[name] = f"{installed} is installed, {pinned} is pinned"
    assert different == {}, "run `make setup`"


def test_conda_installs_torch_the_constraints_and_the_extras_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (extras,) = re.findall(r"^EXTRAS := (\S+)$", makefile, re.MULTILINE)
    (pip,) = [entry["pip"] for entry in CONDA["dependencies"] if isinstance(entry, dict)]
    assert pip == [
        f"torch=={pins(CONSTRAINTS)['torch']}",
        "--constraint constraints.txt",
        f"--editable .[{extras}]",
    ]


def test_conda_the_workflow_and_the_tools_use_a_python_that_the_project_admits() -> None:
    admitted = SpecifierSet(PROJECT["project"]["requires-python"])
    (conda,) = [e.removeprefix("python=") for e in CONDA["dependencies"] if str(e).startswith("python=")]
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    tried = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert all(v in admitted for v in [conda, *tried])
    assert OLDEST in tried
    assert PROJECT["tool"]["mypy"]["python_version"] == OLDEST
    assert PROJECT["tool"]["ruff"]["target-version"] == "py" + OLDEST.replace(".", "")


def test_make_takes_no_python_older_than_the_project_admits() -> None:
    (asked,) = re.findall(r"sys\.version_info < \((\d+), (\d+)\)", (ROOT / "Makefile").read_text())
    assert ".".join(asked) == OLDEST


def test_binder_gets_the_settings_of_make_lab(tmp_path: Path) -> None:
    """`python` stands for Binder's environment: it says where that is."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho {tmp_path}\n")
    python.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([ROOT / "postBuild"], cwd=ROOT, env=os.environ | {"PATH": path}, check=True)
    settings = tmp_path / "share/jupyter/lab/settings/overrides.json"
    assert settings.read_bytes() == (ROOT / ".jupyterlab-settings.json").read_bytes()
    extension = Path("labextensions/course-desk/static/desk.js")
    assert (tmp_path / "share/jupyter" / extension).read_bytes() == (ROOT / ".jupyterlab" / extension).read_bytes()
    saving = (tmp_path / "etc/jupyter/jupyter_server_config.py").read_text()
    assert saving == 'c.FileContentsManager.post_save_hook = "course_lib.desk.start.after_save"\n'


def test_the_jupyterlab_that_is_installed_knows_each_setting_of_make_lab() -> None:
    chosen = json.loads((ROOT / ".jupyterlab-settings.json").read_text())
    for plugin, values in chosen.items():
        package, name = plugin.split(":")
        schema = json.loads((Path(sys.prefix) / f"share/jupyter/lab/schemas/{package}/{name}.json").read_text())
        for key, value in values.items():
            kinds = schema["properties"][key].get("oneOf", [{"const": value}])
            assert value in [kind["const"] for kind in kinds if "const" in kind], (plugin, key, value)
    # Widgets' messages in several threads would leave explorers with a picture of neither setting.
    assert chosen["@jupyterlab/apputils-extension:kernels-settings"]["commsOverSubshells"] == "disabled"
