"""Every public algorithm of the chapters under NCCL's rules: equal to Gloo's, or with the reason why it cannot run."""

import shutil
from pathlib import Path

import cases_gradients  # noqa: F401  (each module of cases adds its own)
import cases_layers  # noqa: F401
import cases_messages  # noqa: F401
import cases_pipelines  # noqa: F401
import cases_rest  # noqa: F401
import cases_servers  # noqa: F401
import pytest
from cases import CASES, FROM_ANYONE, case, differences, new_folder, on_rank

from course_lib import CommError, DeadlockError, simulate

# One of each kind: with a batch that it needs, as library's collectives, beside the program, in a backward pass, in
# groups that cross, by a schedule, and of those that cannot run.
BY_DAY = [
    "ring all-reduce",
    "double tree all-reduce",
    "DataParallel, overlap=True",
    "gossip",
    "Cannon",
    "attention over a cut sequence",
    "products beside a ring",
    "pipeline: 1F1B",
    "pipeline: DualPipe",
    "mesh: interleaved chunks",
    "faults: a neighbour's copy",
    "PipeDream: stashing",
    "servers: synchronous",
]


def tried(name: str) -> list[str]:
    """How a case's results by NCCL's rules differ from those by Gloo's."""
    folders = [new_folder() for _ in range(2)]
    try:
        by_gloo, by_nccl = (
            simulate(on_rank, CASES[name].ranks, (name, folder), rules=rules).results
            for rules, folder in zip(("gloo", "nccl"), folders, strict=True)
        )
        return list(differences(name, by_gloo, by_nccl))
    finally:
        for folder in folders:
            shutil.rmtree(folder)


def holds(name: str) -> None:
    """An algorithm gives the same by both, or it has a reason and is refused."""
    reason = CASES[name].not_on_nccl
    if not reason:
        assert not (found := tried(name)), found
        return
    from_anyone = reason == FROM_ANYONE or "anyone" in name
    with pytest.raises(CommError, match="NCCL cannot receive from anyone" if from_anyone else "no rank can go on"):
        tried(name)


@pytest.mark.parametrize("name", BY_DAY)
def test_an_algorithm_runs_by_nccls_rules_or_says_why_not(name):
    holds(name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in CASES if name not in BY_DAY])
def test_every_other_algorithm_does_so_too(name):
    holds(name)


def test_as_many_algorithms_run_as_the_page_on_platforms_says():
    reasons = [one.not_on_nccl for one in CASES.values() if one.not_on_nccl]
    page = (Path(__file__).parents[2] / "docs/platforms.md").read_text(encoding="utf-8")
    assert f" {len(CASES) - len(reasons)} of {len(CASES)} small programs" in page
    assert all(len(reason.split()) > 4 for reason in reasons)


def test_one_that_would_hang_is_noticed():
    case("sends before it receives", 2)(_swap)
    with pytest.raises(DeadlockError, match="in isend to 1"):
        holds("sends before it receives")
    del CASES["sends before it receives"]


def _swap(comm, here):
    sent, got = comm.isend(here.rand(2), 1 - comm.rank), here.zeros(2)
    comm.recv(got, 1 - comm.rank)
    sent.wait()
    return got
