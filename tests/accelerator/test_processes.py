"""Real processes with a device each: what `run` moves, what carries the messages, and what it says of it."""

import pytest
import torch
from on_device import on_device
from torch import nn
from torch.nn import functional

from course_lib import DeadlockError, MismatchError, RankError, run, simulate
from course_lib.collectives import ring_all_reduce
from course_lib.data_parallel import DataParallel

pytestmark = pytest.mark.timeout(900)  # the first of all waits until the device is compiled


def _train(comm, model, batches, *, scale):
    """Two steps of data parallelism, whose hooks send inside the backward pass."""
    ring_all_reduce(comm, sums := torch.ones(3, device=comm.device) * comm.rank)
    wrapped = DataParallel(comm, model, 60)
    optimizer = torch.optim.SGD(wrapped.parameters(), 0.1)
    for inputs, labels in batches["all"]:
        optimizer.zero_grad()
        (functional.cross_entropy(wrapped(inputs), labels) * scale).backward()
        optimizer.step()
    weights = [weight.detach() for weight in model.parameters()]
    return str(comm.device), str(comm.group([comm.rank]).device), sums, weights


def _given():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    batches = [(torch.randn(4, 5), torch.randint(3, (4,))) for _ in range(2)]
    return {"args": (model, {"all": batches}), "kwargs": {"scale": torch.tensor(2.0)}}


@pytest.mark.parametrize("execute", [simulate, run])
@on_device
def test_a_program_by_comm_device_gives_on_devices_what_it_gives_on_the_cpu(execute):
    on_cpu, on_devices = (execute(_train, 3, **_given(), device=device) for device in ("cpu", "gpu"))
    assert [result[:2] for result in on_devices.results] == [(f"pretend:{rank}",) * 2 for rank in range(3)]
    assert [result[:2] for result in on_cpu.results] == [("cpu", "cpu")] * 3
    for one, other in zip(on_cpu.results, on_devices.results, strict=True):
        torch.testing.assert_close(one[2:], other[2:])  # results come back on the CPU


def _train_and_wait(comm, *args, **kwargs):
    _train(comm, *args, **kwargs)
    comm.recv(torch.empty(1, device=comm.device), 1 - comm.rank)


def _both_ways(comm):
    for device in (comm.device, "cpu", "cpu"):
        tensor = torch.ones(3, device=device)
        comm.send(tensor, 1) if comm.rank == 0 else comm.recv(tensor, 0)
    comm.start(_there, torch.ones(3, device=comm.device)).wait()
    comm.barrier()


def _there(comm, tensor):
    comm.send(tensor, 1) if comm.rank == 0 else comm.recv(tensor, 0)


@pytest.mark.parametrize("sender_is_on_the_cpu", [True, False])
@on_device
def test_a_message_between_the_cpu_and_a_device_is_refused_with_both_lines(sender_is_on_the_cpu):
    def program(comm):
        tensor = torch.ones(3, device="cpu" if (comm.rank == 0) == sender_is_on_the_cpu else comm.device)
        comm.send(tensor, 1) if comm.rank == 0 else comm.recv(tensor, 0)

    with pytest.raises(MismatchError, match="a tensor of the CPU, which Gloo carries") as refused:
        simulate(program, 2, device="gpu")
    assert "which NCCL carries: on NCCL both sides would wait for ever" in str(refused.value)


@on_device
def test_the_report_counts_messages_by_what_carried_them():
    words = "gloo through host memory, 2 ranks on 8 GPUs"
    assert run(_both_ways, 2, device="gpu").backend == f"{words}: gloo through host memory 2, gloo 2"
    assert run(_both_ways, 2).backend == "gloo, cpu"


@pytest.mark.parametrize("execute", [simulate, run])
@on_device
def test_a_deadlock_after_a_backward_pass_on_a_device_is_still_named(execute):
    with pytest.raises(DeadlockError, match="rank 1 waits in recv from 0"):
        execute(_train_and_wait, 2, **_given(), device="gpu")


@pytest.mark.parametrize("execute", [simulate, run])
@on_device
def test_what_a_closure_brings_from_the_cpu_is_named_with_a_way_out(execute):
    weights, unused = {"first": torch.ones(3)}, torch.ones(3)

    def loss(x):
        return (x * weights["first"]).sum()

    def program(comm, x):
        return loss(x)

    with pytest.raises(RankError) as caught:
        execute(program, 2, args=(torch.ones(3),), device="gpu")
    assert unused.device.type == "cpu"
    said = str(caught.value)
    assert "The program brings along from outside: weights (on cpu). Only what args and kwargs give is moved to" in said
    assert f"device, pretend:{caught.value.rank}. Give that in args, too." in said
    assert execute(lambda comm, x: loss(x.cpu()).item(), 2, args=(torch.ones(3),), device="gpu").results == [3.0, 3.0]


@on_device
def test_an_error_that_is_not_about_devices_says_nothing_of_a_closure():
    weights = torch.ones(3)

    def program(comm):
        raise RuntimeError(f"no {weights[0]}")

    with pytest.raises(RankError) as caught:
        simulate(program, 1, device="gpu")
    assert "outside" not in str(caught.value)


def test_without_a_device_there_is_none_to_be_had():
    for execute in (simulate, run):
        with pytest.raises(ValueError, match='device="gpu", but this machine has no such accelerator'):
            execute(lambda comm: None, 1, device="gpu")
