"""`course symptoms`: which rows a log is given, what is told of them, and what is no log."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from course_lib.cli import main
from course_lib.cli.symptom_rank import ENOUGH, rank
from course_lib.cli.symptom_rows import Row, read_rows

ROWS = read_rows((Path(__file__).parents[2] / "notebooks" / "symptoms.md").read_text(encoding="utf-8"))
KILLED = "E1123 10:00:00 api.py:882] failed (exitcode: -9) local_rank: 1 (pid: 4711) of binary: /opt/bin/python\n"
SUCCESS = "".join(f"[rank{n % 4}]: epoch {n // 4} step {n} loss {1 / (n + 1):.3f}\n" for n in range(400)) + "finished\n"


def call(*arguments: str, given: str | bytes = ""):
    return CliRunner().invoke(main, ["symptoms", *arguments], input=given)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.sees[:60])
def test_a_rows_own_words_lead_to_it(row: Row) -> None:
    assert rank(row.sees.replace("`", ""), ROWS)[0].row is row


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.sees[:60])
def test_each_message_of_four_words_that_a_row_quotes_names_it(row: Row) -> None:
    for message in re.findall(r"`([^`]+)`", row.sees):
        if len(re.findall("[A-Za-z]{2,}", message)) >= 4:
            assert row in [match.row for match in rank(message, ROWS)[:3] if match.score >= ENOUGH], message


@pytest.mark.parametrize("log", ["", "\n\n", SUCCESS, "KeyError: 'a'", "ZeroDivisionError: division by zero"])
def test_what_is_no_symptom_names_no_row(log: str) -> None:
    answer = call(given=log)
    assert answer.exit_code == 0
    assert answer.output.startswith("No row fits.")


@pytest.mark.parametrize(
    ("told", "begins"),
    [
        ("adding a second graphics card gives me no speedup at all", "Two devices are no faster than one"),
        ("distributed job blocks on validation because one worker has fewer batches", "Stuck at the end of an epoch"),
        ("the script stalls as soon as it writes the checkpoint", "Stuck when it saves"),
        ("validation accuracy reported is half of the real one with two workers", "The metric falls"),
        ("augmentations are the same on all workers because of the seed", "All ranks draw"),
        (
            "ddp gives a different loss than a single gpu with the same seed and batch",
            "Results differ between one device",
        ),
        ("activation checkpointing does not reduce my memory", "FSDP, ZeRO or checkpointing saves"),
        ("cuda out of memory when loading the pretrained checkpoint on every process", "Out of memory before"),
        ("memory leak: usage goes up each epoch", "In training: `CUDA"),
        ("the grad scaler skips most steps and loss scale goes to zero", "Nan or skipped"),
        ("models on the two ranks are not in sync after training", "Ranks' losses drift apart"),
        ("loss spikes when I resume", "The loss jumps after"),
        ("only node 0 has the checkpoint files, the other node cannot find them", "`FileNotFoundError`"),
        ("process gets killed without any error message", "No traceback, a silent"),
        ("throughput drops a lot once I go from one server to two servers", "Fast within a machine"),
        ("training pauses every now and then waiting for the data loader", "Good for some steps"),
        ("running with torchrun on my laptop cpu is slower than plain python", "Two processes on one machine"),
        ("launching on 2 nodes, second node never joins", "`init_process_group`, Lightning"),
        ("with pipeline parallel rank 0 prints no loss", "The loss is -1"),
        ("large batch training on many gpus converges to a worse result", "Results differ after many"),
        ("clip_grad_norm_ gives another value with tensor parallelism", "The gradient's norm"),
        ("elastic restart with fewer nodes makes it train twice on some data", "The loss jumps after"),
    ],
)
def test_what_is_told_in_ones_own_words_names_the_row(told: str, begins: str) -> None:
    named = [match.row.sees for match in rank(told, ROWS)[:3] if match.score >= ENOUGH]
    assert any(sees.startswith(begins) for sees in named)


@pytest.mark.parametrize(
    "told",
    [
        "how do I install pytorch on windows",
        "the model learns well and everything is fine",
        "ValueError: could not convert string to float: 'abc'",
        "git push was rejected because the remote contains work that you do not have",
    ],
)
def test_what_the_page_does_not_know_names_no_row(told: str) -> None:
    assert call(given=told).output.startswith("No row fits.")


def test_many_ranks_and_a_long_log_say_no_more_than_one() -> None:
    many = "".join(f"[rank{n}]: {KILLED}" for n in range(64))
    assert rank(many, ROWS)[0].score == rank(KILLED, ROWS)[0].score
    assert rank(SUCCESS + many, ROWS)[0].row == rank(KILLED, ROWS)[0].row


def test_what_nccl_notes_is_no_error() -> None:
    note = "host:1:1 [0] NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open: No such file or directory\n"
    assert call(given=note).output.startswith("No row fits.")


def test_a_row_is_told_with_cause_checks_section_and_proof(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(KILLED)
    told = call(str(tmp_path / "log")).output
    assert told == call(given=KILLED).output
    assert told.startswith("1. It dies: Something outside ended it: the kernel (9)")
    for part in ("   1. `dmesg`", "   2. Host memory", "12_failures.ipynb#day-one", "tests/symptoms -k root_cause"):
        assert part in told


def test_what_cannot_be_read_is_refused_in_words(tmp_path: Path) -> None:
    missing = call(str(tmp_path / "none"))
    assert missing.exit_code == 2
    assert "No such file" in missing.output
    binary = call(given=b"\x7fELF\0\0")
    assert binary.exit_code == 1
    assert "this is no text" in binary.output


def test_of_a_huge_log_the_end_is_read() -> None:
    huge = call(given=KILLED + "step 1 loss 0.5\n" * 70_000)
    assert "its last 1 MB is read" in huge.output
    assert "No row fits." in huge.output
    assert "the kernel (9)" in call(given="step 1 loss 0.5\n" * 70_000 + KILLED).output
