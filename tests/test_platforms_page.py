"""docs/platforms.md: its program on NCCL does what the section says, and gives the words that stand there."""

import re
from pathlib import Path

import pytest

from course_lib import DeadlockError

PAGE = (Path(__file__).parents[1] / "docs/platforms.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## Why a program that runs on Gloo hangs on NCCL")[1].split("\n## ")[0]


def _block(language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", SECTION, re.DOTALL)[1]


def test_the_program_runs_by_gloos_rules_and_is_a_deadlock_by_nccls_with_the_words_on_the_page(
    tmp_path, capsys, monkeypatch
):
    file = tmp_path / "swap.py"
    file.write_text(_block("python"), encoding="utf-8")
    names = {"__name__": "swap"}
    with pytest.raises(DeadlockError) as caught:
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    assert capsys.readouterr().out == "[1.0, 0.0]\n"
    assert str(caught.value).replace(f"{tmp_path}/", "") == _block("text").strip()


def test_in_a_batch_it_runs_by_nccls_rules_too(tmp_path):
    program = _block("python").replace("sending = comm", "with comm.batch():\n        sending = comm")
    program = program.replace("    comm.recv", "        comm.recv")
    names = {"__name__": "swap"}
    exec(compile(program + "found = simulate(swap, 2, rules='nccl').results", "swap", "exec"), names)
    assert names["found"] == [1.0, 0.0]


def test_the_program_has_ten_lines():
    assert len([line for line in _block("python").splitlines() if line]) == 10
