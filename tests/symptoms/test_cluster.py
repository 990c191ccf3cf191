"""What does not meet: addresses, ranks that are late or missing, and limits of a process."""

import resource
import socket
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from course_lib import RankError, run

SECOND = timedelta(seconds=1)


def test_what_a_late_rank_has_not_written_is_a_time_out_of_the_others(causes) -> None:
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    with pytest.raises(dist.DistStoreError, match="/data") as caught:
        store.wait(["data"], timedelta(seconds=0.25))
    [cause] = causes(str(caught.value))
    assert cause.startswith("A slow rank: rank 0 downloads, compiles, prepares")
    store.set("data", "ready")
    store.wait(["data"], timedelta(seconds=0.25))


def branch(comm, same: bool) -> None:
    """A sum on rank 0 and a broadcast on rank 1, where PyTorch compares what ranks call."""
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    group = dist.new_group(timeout=timedelta(seconds=5))
    if same or comm.rank == 0:
        dist.all_reduce(torch.ones(1), group=group)
    else:
        dist.broadcast(torch.ones(1), src=0, group=group)


def test_another_branch_is_another_collective(causes) -> None:
    with pytest.raises(RankError) as caught:
        run(branch, 2, args=(False,))
    [cause] = causes(str(caught.value))
    assert cause.startswith("Ranks call other collectives, or in another order")
    run(branch, 2, args=(True,))


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_where_nobody_listens_the_client_says_where_it_looked(causes, host) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with pytest.raises(dist.DistNetworkError, match=f"{host}, {port}") as caught:
        dist.TCPStore(host, port, is_master=False, timeout=SECOND)
    [cause] = causes(str(caught.value))
    assert cause.startswith("A wrong address, a closed port")


def test_a_rank_that_does_not_come_is_missed_by_number(causes) -> None:
    with pytest.raises(dist.DistStoreError, match="1/2 clients joined") as caught:
        dist.TCPStore("127.0.0.1", 0, 2, is_master=True, timeout=SECOND)
    [cause] = causes(str(caught.value))
    assert cause.startswith("Fewer processes came than the world size says")


def open_many(comm, limit: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    kept = [open("/dev/null") for _ in range(64)]  # noqa: SIM115
    for each in kept:
        each.close()


def test_too_many_open_files_is_a_limit_of_the_process(causes) -> None:
    with pytest.raises(RankError, match="OSError") as caught:
        run(open_many, 2, args=(64,))
    [cause] = causes(str(caught.value))
    assert cause.startswith("A limit of the process or of its container")
    run(open_many, 2, args=(512,))
