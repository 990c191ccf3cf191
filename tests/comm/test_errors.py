"""What can go wrong between ranks, in words."""

import pickle
import traceback
from pathlib import Path

import pytest

from course_lib import (
    CommError,
    DeadlockError,
    MismatchError,
    RankDiedError,
    RankError,
    RankTimeoutError,
    UnmatchedError,
)
from course_lib.comm.errors import (
    Leftover,
    Pending,
    deadlock_error,
    find_cycle,
    is_echo,
    mismatch_error,
    unmatched_error,
)


@pytest.mark.parametrize(
    ("waits_for", "cycle"),
    [
        ({}, []),
        ({0: None}, []),
        ({0: 1, 1: None}, []),
        ({0: 3}, []),  # 3 has finished
        ({0: 1, 1: 0}, [0, 1, 0]),
        ({0: 2, 1: 2, 2: 3, 3: 2}, [2, 3, 2]),
        ({5: 4, 4: 3, 3: 5, 0: 5}, [5, 4, 3, 5]),
    ],
)
def test_the_circle_of_waiting_ranks_is_found(waits_for, cycle):
    assert find_cycle(waits_for) == cycle


def test_a_deadlock_tells_who_waits_where_who_has_finished_and_the_circle():
    error = deadlock_error({1: Pending("recv", 0, "line 3"), 0: Pending("send", 1, "line 5")}, [2])
    assert str(error).splitlines() == [
        "no rank can go on:",
        "  rank 0 waits in send to 1, line 5",
        "  rank 1 waits in recv from 0, line 3",
        "  finished already: rank 2",
        "  the circle: 0 -> 1 -> 0",
    ]


@pytest.mark.parametrize(
    ("pending", "words"),
    [
        (Pending("recv", None, "here"), "waits in recv from anyone, here"),
        (Pending("wait for isend", 3, ""), "waits in wait for isend to 3"),
        (Pending("wait for irecv", 3, "here"), "waits in wait for irecv from 3, here"),
    ],
)
def test_what_a_rank_is_blocked_in_reads_as_a_sentence(pending, words):
    assert str(pending) == words


def test_long_lists_are_cut_after_sixteen():
    deadlock = str(deadlock_error({r: Pending("recv", r + 1, "x") for r in range(40)}, range(40, 80)))
    assert "and 24 more ranks" in deadlock
    assert "finished already: ranks 40, 41," in deadlock
    assert ", 55, ..." in deadlock
    unmatched = str(unmatched_error([Leftover("isend", r, 0, "x") for r in range(17)]))
    assert unmatched.splitlines()[-1] == "  ... and 1 more"
    assert len(unmatched.splitlines()) == 18


def test_a_mismatch_names_both_sides():
    text = str(mismatch_error(0, "float32 (2,)", "line 1", 1, "int32 (2,)", ""))
    assert "rank 0 sends float32 (2,) to 1, line 1\n" in text
    assert "rank 1 receives int32 (2,) from 0\n" in text


def test_a_rank_error_survives_pickling_with_all_its_parts():
    error = RankError(3, "KeyError", "'x'", "cell [1], line 2", "Traceback ...")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert (copy.rank, copy.cause_type, copy.cause_text, copy.details) == (3, "KeyError", "'x'", "Traceback ...")


def test_a_notebook_shows_the_message_without_our_frames():
    assert CommError("told").__class__._render_traceback_(CommError("told")) == ["CommError: told"]


@pytest.mark.parametrize("kind", [DeadlockError, MismatchError, UnmatchedError, RankDiedError, RankTimeoutError])
def test_an_error_ends_with_its_row_of_symptoms_once_however_far_it_travels(kind):
    page = (Path(__file__).parents[2] / "notebooks" / "symptoms.md").read_text(encoding="utf-8")
    title, cause = kind.symptom.split(": ")
    assert f"| {cause} |" in page.partition(f"## {title}\n")[2].partition("\n## ")[0]
    copy = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(kind("told")))))
    assert str(copy) == "told"
    assert copy.full_text() == f"{kind.__name__}: told\nSee symptoms.md, {kind.symptom}"
    assert "".join(traceback.format_exception(copy)).endswith(f"\nSee symptoms.md, {kind.symptom}\n")


@pytest.mark.parametrize(
    ("how", "begins"),
    [
        ("signal SIGKILL", "Something outside ended it"),
        ("signal SIGSEGV", "Code outside of Python"),
        ("signal SIGABRT", "Ranks bring tensors of different sizes"),
        ("exit code 3", "One rank died"),
    ],
)
def test_a_death_ends_with_the_row_of_its_signal(how, begins):
    page = (Path(__file__).parents[2] / "notebooks" / "symptoms.md").read_text(encoding="utf-8")
    error = RankDiedError.ended(f"rank 1 died ({how})", how)
    title, cause = error.symptom.split(": ")
    assert cause.startswith(begins)
    assert f"| {cause}" in page.partition(f"## {title}\n")[2].partition("\n## ")[0]
    assert pickle.loads(pickle.dumps(error)).full_text().endswith(f"\nSee symptoms.md, {error.symptom}")


def test_only_a_vanished_peer_is_an_echo():
    assert is_echo("[pair.cc:553] Connection closed by peer [127.0.0.1]:64678")
    assert not is_echo("ValueError: the connection of my model")
