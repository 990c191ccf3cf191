"""What stands around the code: versions that agree, and workflows that run what they say."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_version_is_the_changelog_s_newest_and_the_citation_s() -> None:
    newest = re.search(r"^## (\d+\.\d+\.\d+) – (\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (VERSION, VERSION, newest[2]) == (newest[1], citation["version"], citation["date-released"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=[path.stem for path in WORKFLOWS])
def test_a_workflow_pins_each_action_by_hash_and_says_its_version(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each) for each in used)
    assert "permissions" in yaml.safe_load(path.read_text())


def test_what_hooks_and_forms_name_is_there() -> None:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert {hook["entry"].split()[0] for hook in local["hooks"]} == {".venv/bin/ruff", ".venv/bin/course"}
    forms = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    assert {"right_answer_refused.yml", "sentence_is_wrong.yml"} < {path.name for path in forms}
    for path in forms:
        assert yaml.safe_load(path.read_text())
