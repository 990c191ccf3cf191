"""`course symptoms`: which rows a log is given, what is told of them, and what is no log."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from course_lib.cli import main
from course_lib.cli.symptom_rank import fitting, rank
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
            assert row in [match.row for match in fitting(message, ROWS)], message


@pytest.mark.parametrize("log", ["", "\n\n", SUCCESS, "KeyError: 'a'", "ZeroDivisionError: division by zero"])
def test_what_is_no_symptom_names_no_row(log: str) -> None:
    answer = call(given=log)
    assert answer.exit_code == 0
    assert answer.output.startswith("No row fits.")


def test_a_note_is_named_behind_an_error() -> None:
    note = "[W socket.cpp:663] [c10d] cannot be initialized (errno: 97 - Address family not supported by protocol)."
    assert fitting(note, ROWS)[-1].row.cause.startswith("Notes only")
    found = fitting(f"{note}\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", ROWS)
    assert [match.row.group for match in found][:1] == ["Memory"]
    assert found[-1].row.cause.startswith("Notes only")


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


WRITTEN = {  # by PowerShell's > and Out-File, with a mark and without, by editors and consoles of Windows
    "utf-8": KILLED.encode(),
    "utf-8 with a mark": KILLED.encode("utf-8-sig"),
    "utf-16 with its mark": KILLED.replace("\n", "\r\n").encode("utf-16"),
    "utf-16, the other order": b"\xfe\xff" + KILLED.encode("utf-16-be"),
    "utf-16 without a mark": KILLED.encode("utf-16-le"),
    "utf-32 with its mark": KILLED.encode("utf-32"),
    "latin-1": "für Zoë\n".encode("latin-1") + KILLED.encode(),
    "two programs' encodings": KILLED.encode() + KILLED.encode("utf-16-le"),
    "a log that was cut to nothing while it was written": b"\0" * 5000 + KILLED.encode(),
    "colors and a bar": b"\x1b[31m" + b"\r\x08\x1b[K 10%" * 9 + b"\n" + KILLED.encode(),
}


@pytest.mark.parametrize("way", WRITTEN)
def test_a_log_says_the_same_in_every_encoding(way: str) -> None:
    assert call(given=WRITTEN[way]).output == call(given=KILLED).output


@pytest.mark.parametrize("data", [b"\x1f\x8b\x08\0" + bytes(range(256)), b"PK\x03\x04\0\0\x08\0", b"\x89PNG\r\n\x1a\n"])
def test_what_is_packed_or_a_picture_is_no_text(data: bytes) -> None:
    assert "this is no text" in call(given=data).output


def test_of_a_huge_log_in_wide_letters_whole_letters_are_read() -> None:
    for encoding in ("utf-16", "utf-32", "utf-16-be"):
        huge = call(given=("step 1 loss 0.5\n" * 40_000 + "\n" + KILLED).encode(encoding))
        assert "its last 1 MB is read" in huge.output
        assert "the kernel (9)" in huge.output


def test_of_a_huge_log_the_end_is_read() -> None:
    huge = call(given=KILLED + "step 1 loss 0.5\n" * 70_000)
    assert "its last 1 MB is read" in huge.output
    assert "No row fits." in huge.output
    assert "the kernel (9)" in call(given="step 1 loss 0.5\n" * 70_000 + KILLED).output
