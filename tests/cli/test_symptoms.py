"""`course symptoms`: which rows a log is given, what is told of them, and what is no log."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from course_lib.cli import main
from course_lib.cli.symptoms import TIMED_OUT, SymptomRow, fitting, rank, read_rows

ROWS = read_rows((Path(__file__).parents[2] / "notebooks" / "symptoms.md").read_text(encoding="utf-8"))
KILLED = "E1123 10:00:00 api.py:882] failed (exitcode: -9) local_rank: 1 (pid: 4711) of binary: /opt/bin/python\n"
SUCCESS = "".join(f"[rank{n % 4}]: epoch {n // 4} step {n} loss {1 / (n + 1):.3f}\n" for n in range(400)) + "finished\n"


def call(*arguments: str, given: str | bytes = ""):
    return CliRunner().invoke(main, ["symptoms", *arguments], input=given)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.sees[:60])
def test_a_rows_own_words_lead_to_it(row: SymptomRow) -> None:
    assert rank(row.sees.replace("`", ""), ROWS)[0].row is row


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.sees[:60])
def test_each_message_of_four_words_that_a_row_quotes_names_it(row: SymptomRow) -> None:
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


WATCHDOG = (
    "[rank{0}]:[E602 11:17:52.18 ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600060 milliseconds "
    "before timing out.\n"
)
TIME_OUTS = [  # lines of PyTorch 1.13 to 2.7, as people's issues quote them
    "".join(map(WATCHDOG.format, range(4))),
    WATCHDOG.format(1) + KILLED.replace("-9", "-6"),
    "terminate called after throwing an instance of 'c10::DistBackendError'\n"
    "  what():  [Rank 6] NCCL watchdog thread terminated with exception: " + WATCHDOG.format(6),
    "[E ProcessGroupNCCL.cpp:1709] [PG 0 (default_pg) Rank 3] Timeout at NCCL work: 7, last enqueued NCCL work: 9",
    "[PG ID 0 Rank 5]  failure detected by watchdog at work sequence id: 49 PG status: last enqueued work: 51",
    "[PG ID 0 Rank 0] Received a dump signal due to a collective timeout from  rank 13",
    "[E ProcessGroupNCCL.cpp:684] [Rank 3] Some NCCL operations have failed or timed out.",
    "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring collectives",
    "NCCL timeout",
    "my training dies with an NCCL timeout",
    "NCCL timeout error after 10 minutes in the middle of training on 8 gpus",
]


def causes(text: str) -> list[str]:
    """The beginning of each cause that is named."""
    return [match.row.cause[:14] for match in fitting(text, ROWS)]


@pytest.mark.parametrize("text", TIME_OUTS, ids=lambda text: text[:40])
def test_a_time_out_of_nccl_names_its_three_causes_and_to_read_the_first_error_first(text: str) -> None:
    assert causes(text) == ["One rank died,", "A collective t", "A slow rank: r"]
    assert call(given=text).output.splitlines()[0].startswith("1. It dies: One rank died")
    assert "All logs by time: the *first* error" in fitting(text, ROWS)[0].row.checks


def test_what_stands_before_a_time_out_is_named_before_its_causes() -> None:
    error = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    assert causes(error + TIME_OUTS[0])[0] == "More parameter"
    assert causes(TIME_OUTS[0] + error)[0] == "One rank died,"
    note = "[W socket.cpp:663] [c10d] cannot be initialized (errno: 97 - Address family not supported by protocol).\n"
    assert causes(note + TIME_OUTS[0])[0] == "One rank died,"
    assert causes("it freezes when rank 0 saves the checkpoint\n" + TIME_OUTS[0])[0] == "`if rank == 0:"


def test_each_cause_of_a_time_out_is_one_row() -> None:
    for begins in TIMED_OUT:
        assert [row.cause.startswith(begins) for row in ROWS].count(True) == 1


def test_a_time_out_of_a_store_or_a_socket_is_none_of_a_collective() -> None:
    for text in ("The client socket has timed out after 60s", "Timed out after 1801 seconds waiting for clients."):
        assert "A collective t" not in causes(text)


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


@pytest.mark.parametrize("run", ["x", "1", "-", ".", "a.", "_", " ", "x_", "assert ", "code ", "rank1", "a/"])
def test_a_line_without_an_end_costs_no_more_than_many_lines(run: str) -> None:
    words = (run * 100_000)[:100_000]
    assert "the kernel (9)" in call(given=f"{words} \n{words} {KILLED}").output


def test_of_a_huge_log_the_end_is_read() -> None:
    huge = call(given=KILLED + "step 1 loss 0.5\n" * 70_000)
    assert "its last 1 MB is read" in huge.output
    assert "No row fits." in huge.output
    assert "the kernel (9)" in call(given="step 1 loss 0.5\n" * 70_000 + KILLED).output
