"""`course` and `course doctor`."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from course_lib.cli import COMMANDS, main
from course_lib.cli import doctor as health
from course_lib.cli.doctor import CHECKS, GOOD, NOTE, PROBLEM, DoctorResult

GIB = 1024**3


def call(*arguments: str):
    return CliRunner().invoke(main, list(arguments))


def test_help_names_every_command() -> None:
    result = call("--help")
    assert result.exit_code == 0
    assert all(name in result.output for name in COMMANDS)


def test_help_imports_no_command() -> None:
    code = "import sys; from course_lib.cli import main; main(['--help'], standalone_mode=False); "
    code += "print([m for m in sys.modules if m.startswith('course_lib.cli.') or m in ('rich', 'nbformat')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[]"


def test_python_dash_m_is_the_same_command() -> None:
    out = subprocess.run([sys.executable, "-m", "course_lib", "--version"], capture_output=True, text=True, check=True)
    assert out.stdout.startswith("course, version ")


def test_a_command_that_cannot_be_imported_leaves_the_others_working(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "broken", ("course_lib.cli.missing", "missing", "A command without a module."))
    broken = call("broken")
    assert broken.exit_code == 1
    assert "`course broken` cannot be loaded" in broken.output
    assert call("--help").exit_code == 0


def test_an_unknown_command_is_a_usage_error() -> None:
    assert call("fly").exit_code == 2


@pytest.mark.parametrize(
    ("finding", "level"),
    [
        (health.python_version((3, 11, 0)), GOOD),
        (health.python_version((3, 10, 14)), PROBLEM),
        (health.cores(2), GOOD),
        (health.cores(1), NOTE),
        (health.memory(8 * GIB, 6 * GIB), GOOD),
        (health.memory(4 * GIB, 2 * GIB), NOTE),
        (health.memory(4 * GIB, GIB // 2), PROBLEM),
        (health.disk(10 * GIB), GOOD),
        (health.disk(GIB), NOTE),
        (health.disk(0), PROBLEM),
        (health.shared_memory(GIB), GOOD),
        (health.shared_memory(1024), PROBLEM),
        (health.start_method(["fork", "spawn", "forkserver"]), GOOD),
        (health.start_method(["spawn"]), NOTE),
    ],
    ids=lambda value: value.subject if isinstance(value, DoctorResult) else value,
)
def test_a_check_judges_what_it_is_given(finding: DoctorResult, level: str) -> None:
    assert finding.level == level
    assert (finding.advice == "") == (level == GOOD)


def doctor_of(monkeypatch: pytest.MonkeyPatch, *findings: DoctorResult):
    monkeypatch.setattr(health, "examine", lambda: findings)
    return call("doctor")


def test_doctor_says_yes_and_exits_0_where_there_are_only_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    result = doctor_of(monkeypatch, DoctorResult("Cores", GOOD, "2"), DoctorResult("Disk", NOTE, "1 GiB", "Free some."))
    assert (result.exit_code, "Yes. Start with" in result.output) == (0, True)
    assert "Free some." in result.output


def test_doctor_names_the_problem_and_exits_1(monkeypatch: pytest.MonkeyPatch) -> None:
    result = doctor_of(monkeypatch, DoctorResult("Loopback", PROBLEM, "[Errno 1] refused", "sudo ip link set lo up"))
    assert result.exit_code == 1
    assert "[Errno 1] refused" in result.output
    assert "Not yet: see Loopback above." in result.output


def test_a_check_that_fails_itself_is_a_problem_and_the_next_ones_still_run() -> None:
    def broken_check() -> DoctorResult:
        raise OSError("no such device")

    first, second = health.examine((broken_check, health.start_method))
    assert (first.subject, first.level, first.found) == ("broken check", PROBLEM, "OSError: no such device")
    assert second.subject == "Start method"


def test_this_machine_passes_every_check() -> None:
    assert [finding for finding in health.examine(CHECKS) if finding.level == PROBLEM] == []
