"""The communicator for NCCL: its batches over Gloo, and, where there are GPUs, NCCL and Gloo on GPUs themselves."""

import sys

import cloudpickle
import pytest
import torch

from course_lib import RankError, run, simulate
from course_lib.collectives import ALL_REDUCES
from course_lib.comm.transport.batched import BatchedCommunicator

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if these programs were written in a notebook


def batched(comm) -> BatchedCommunicator:
    """A communicator that batches, on the process group of this run."""
    return BatchedCommunicator(comm.rank, comm.world_size, None, 0.0, torch.device("cpu"))


@pytest.mark.parametrize("name", ["ring", "halving-doubling", "tree", "direct"])
def test_all_reduces_work_in_batches_and_send_the_same_messages(name):
    all_reduce = ALL_REDUCES[name]

    def program(comm):
        batches, tensor = batched(comm), torch.arange(10.0) + comm.rank
        all_reduce(batches, tensor)
        comm.barrier()
        return tensor.tolist(), [(row.kind, row.peer, row.message_bytes) for row in batches.log.operations]

    def plain(comm):
        tensor = torch.arange(10.0) + comm.rank
        all_reduce(comm, tensor)
        return tensor.tolist()

    results = run(program, 3).results
    simulated = simulate(plain, 3)
    assert [result[0] for result in results] == simulated.results
    for rank, (_, operations) in enumerate(results):
        sent = [(peer, size) for kind, peer, size in operations if kind == "send"]
        expected = [(m.dst, m.message_bytes) for m in simulated.trace.messages if m.src == rank]
        assert sorted(sent) == sorted(expected)


def test_a_send_and_a_receive_of_both_sides_start_together():
    # Each rank posts its send before its receive; in order, two such sends would wait for each other forever.
    def program(comm):
        batches, got = batched(comm), torch.zeros(4)
        sending = batches.isend(torch.full((4,), comm.rank + 1.0), 1 - comm.rank)
        receiving = batches.irecv(got, 1 - comm.rank)
        sending.wait()  # starts the batch, with the receive in it
        receiving.wait()
        sending.wait()
        comm.barrier()
        return got.tolist(), receiving.source_rank()

    assert run(program, 2).results == [([2.0] * 4, 1), ([1.0] * 4, 0)]


def test_several_batches_follow_each_other():
    def program(comm):
        batches, seen = batched(comm), []
        for turn in range(3):
            tensor = torch.tensor([10.0 * turn])
            batches.send(tensor, 1) if comm.rank == 0 else batches.recv(tensor.zero_(), 0)
            seen.append(float(tensor))
        batches.barrier()
        comm.barrier()
        return seen

    assert run(program, 2).results == [[0.0, 10.0, 20.0]] * 2


def test_a_batch_starts_at_its_end_and_the_rank_computes_meanwhile():
    def program(comm):
        batches, got = batched(comm), torch.zeros(1)
        with batches.batch():
            with batches.batch():
                sending = batches.isend(torch.tensor([comm.rank + 1.0]), 1 - comm.rank)
            began = len(batches._collected)
            receiving = batches.irecv(got, 1 - comm.rank)
        began = began, len(batches._collected)
        receiving.wait(), sending.wait()
        comm.barrier()
        return began, got.item()

    assert run(program, 2).results == [((1, 0), 2.0), ((1, 0), 1.0)]


def test_receiving_from_anyone_is_refused_for_nccl_cannot():
    with pytest.raises(RankError, match="NCCL cannot receive from anyone: name the sender"):
        run(lambda comm: batched(comm).recv(torch.zeros(1)), 1)


def test_a_tensor_of_another_device_goes_without_a_batch_and_what_was_collected_starts_with_it():
    # Both ranks collect a pair of messages, then wait for one of the other kind: the pair must be on its way.
    def program(comm):
        batches, got, other = batched(comm), torch.zeros(1), torch.zeros(1)
        sending = batches.isend(torch.tensor([comm.rank + 1.0]), 1 - comm.rank)
        receiving = batches.irecv(got, 1 - comm.rank)
        assert [handle for _, handle in batches._collected if handle.works is None]
        batches._device = torch.device("meta")  # now the tensors below are those of another device
        if comm.rank == 0:
            batches.send(torch.tensor([7.0]), 1)
        else:
            batches.recv(other, 0)
        assert batches._collected == []
        sending.wait()
        receiving.wait()
        comm.barrier()
        return float(got), float(other)

    assert run(program, 2).results == [(2.0, 0.0), (1.0, 7.0)]


def test_a_started_function_runs_at_once_for_nccl_tells_no_streams_apart():
    def program(comm):
        batches, tensor = batched(comm), torch.full((3,), comm.rank + 1.0)
        work = batches.start(ALL_REDUCES["ring"], tensor)
        at_once = tensor.tolist()
        broken = batches.start(lambda beside: 1 / 0)
        assert work.wait()
        with pytest.raises(ZeroDivisionError):
            broken.wait()
        batches.start(lambda beside: {}["nothing"])
        with pytest.raises(KeyError):
            batches.end()
        comm.barrier()
        return at_once

    assert run(program, 2).results == [[3.0] * 3] * 2


def on_gpus(comm, all_reduce):
    tensor = torch.arange(1000.0, device=comm.device) + comm.rank
    all_reduce(comm, tensor)
    comm.barrier()
    return tensor.sum().item(), tensor.device.type


@pytest.mark.gpu(2)
@pytest.mark.parametrize("name", ["ring", "halving-doubling", "tree", "direct"])
def test_nccl_carries_the_messages_when_every_rank_has_a_gpu(name):
    report = run(on_gpus, 2, (ALL_REDUCES[name],), device="gpu")
    assert report.backend.startswith("nccl, 2 GPUs: nccl ")
    assert "gloo" not in report.backend
    assert report.results == [(2 * 499_500.0 + 1000, "cuda")] * 2


@pytest.mark.gpu(1)
def test_ranks_that_share_a_gpu_send_through_host_memory():
    ranks = torch.cuda.device_count() + 1
    report = run(on_gpus, ranks, (ALL_REDUCES["ring"],), device="gpu")
    assert report.backend.startswith("gloo through host memory")
    assert report.results == [(ranks * 499_500.0 + 1000 * sum(range(ranks)), "cuda")] * ranks


@pytest.mark.gpu(1)
def test_a_tensor_argument_arrives_on_the_ranks_gpu():
    assert run(lambda comm, t: t.device.type, 1, (torch.ones(2),), device="gpu").results == ["cuda"]


@pytest.mark.gpu(1)
def test_one_rank_with_a_gpu_uses_nccl():
    assert run(on_gpus, 1, (ALL_REDUCES["ring"],)).backend == "nccl, 1 GPUs"
