"""What hangs: the error names the rank that has finished, and the page the cause."""

import inspect
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard

from course_lib import DeadlockError, RankError, run
from course_lib.collectives import ring_all_reduce
from course_lib.data_parallel.zero import ZERO_STAGES

NOT_ALL = "A collective that not all ranks call, or a message without its other side."


def sums(comm, batches: list[int]) -> int:
    for _ in range(batches[comm.rank]):
        ring_all_reduce(comm, torch.ones(1))  # the sum of a batch
    return batches[comm.rank]


@pytest.mark.parametrize(("batches", "waits", "finished"), [([3, 2], 0, 1), ([0, 1], 1, 0)])
def test_one_collective_fewer_names_who_waits_where_and_who_has_finished(causes, batches, waits, finished) -> None:
    with pytest.raises(DeadlockError) as caught:
        run(sums, 2, args=(batches,))
    said = str(caught.value)
    assert f"rank {waits} waits in recv from {finished}" in said
    assert f"finished already: rank {finished}" in said
    line = inspect.getsourcelines(sums)[1] + 2
    assert f"{__file__}, line {line}" in said
    assert f"fewest collectives begun: {batches[finished]}, by rank {finished}; most: {batches[waits]}" in said
    assert [(rank.begun, rank.ended) for rank in caught.value.collectives] == [(n, min(batches)) for n in batches]
    assert causes(said) == [NOT_ALL]


def test_with_the_last_batch_left_out_everywhere_it_goes_on() -> None:
    assert run(sums, 2, args=([2, 2],)).results == [2, 2]


def test_gloo_alone_says_that_it_waited(causes) -> None:
    def program(comm):
        group = dist.new_group(timeout=timedelta(seconds=1))
        for _ in range(2 - comm.rank):
            dist.all_reduce(torch.ones(1), group=group)

    with pytest.raises(RankError, match="rank 0 raised") as caught:
        run(program, 2)
    assert causes(str(caught.value)) == [NOT_ALL]


def saved(comm, callers: list[int]) -> list[float]:
    """What the callers would write: a model whose parameters lie on all ranks."""
    model = nn.Linear(2, 1, bias=False)
    nn.init.ones_(model.weight)
    sharded = ZERO_STAGES[3](comm, model, torch.optim.Adam)
    if comm.rank not in callers:
        return []
    with sharded.whole():
        return model.weight.flatten().tolist()


@pytest.mark.parametrize("rank", [0, 1])
def test_a_gather_behind_a_test_of_the_rank_hangs_and_names_the_ranks(rank) -> None:
    with pytest.raises(DeadlockError) as caught:
        run(saved, 2, args=([rank],))
    assert f"rank {rank} waits" in str(caught.value)
    assert f"finished already: rank {1 - rank}" in str(caught.value)


def test_a_gather_that_all_call_gives_all_of_it() -> None:
    assert run(saved, 2, args=([0, 1],)).results == [[1, 1]] * 2


def test_a_full_tensor_of_fsdp_waits_for_all_ranks(causes) -> None:
    def program(comm):
        mesh = DeviceMesh.from_group(dist.new_group(timeout=timedelta(seconds=1)), "cpu")
        model = fully_shard(nn.Linear(2, 2), mesh=mesh)
        whole = model.weight.full_tensor().shape
        if comm.rank == 0:
            model.weight.full_tensor()
        return whole

    with pytest.raises(RankError, match="rank 0 raised") as caught:
        run(program, 2)
    assert "model.weight.full_tensor()" in str(caught.value)
    assert causes(str(caught.value)) == [NOT_ALL]


def last_words(comm, hangs: bool) -> tuple[float, str, float]:
    """When the second sum began here; the last words, and when. Rank 1 hangs until the others have said theirs."""
    group = dist.new_group(timeout=timedelta(seconds=2 if hangs else 60))
    dist.barrier(group)
    dist.all_reduce(torch.ones(1), group=group)
    if hangs and comm.rank == 1:
        for other in (0, 2):
            comm.recv(torch.zeros(1), other)
    began_s, said = time.perf_counter(), "done"
    try:
        dist.all_reduce(torch.ones(1), group=group)
    except RuntimeError as error:
        said = str(error)
    said_s = time.perf_counter()
    if hangs and comm.rank != 1:
        comm.send(torch.zeros(1), 1)
    return began_s, said, said_s


def test_who_hung_begins_last_and_complains_last_of_the_others(causes) -> None:
    words = run(last_words, 3, args=(True,), echo=False).results
    assert max(words)[1] == words[1][1]
    assert any(each in words[1][1] for each in ("onnection", "roken pipe"))
    for _, said, said_s in (words[0], words[2]):
        assert causes(said) == [NOT_ALL]
        assert said_s < words[1][2]
    assert [said for _, said, _ in run(last_words, 3, args=(False,)).results] == ["done"] * 3


def missing(comm) -> str:
    group = dist.new_group()
    dist.barrier(group)
    try:
        if comm.rank != 1:
            dist.monitored_barrier(group, timeout=timedelta(seconds=2), wait_all_ranks=True)
    except RuntimeError as error:
        return str(error)
    return "nobody"


def test_a_monitored_barrier_names_who_is_missing() -> None:
    assert "Ranks 1 failed to pass" in run(missing, 3, echo=False).results[0]
