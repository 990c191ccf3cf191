"""What dies: each error has the words by which the page is found."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from course_lib import CommError, MismatchError, RankError, run
from course_lib.collectives import ring_all_reduce
from course_lib.data_parallel import DataParallel

PAGE = Path(__file__).parents[2] / "notebooks" / "symptoms.md"
TWO_SIZES = "Ranks bring tensors of different sizes or types."
USED_TWICE = "A reentrant checkpoint: of a layer used twice"


class TwoHeads(nn.Module):
    """Two heads, of which the loss uses one."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Linear(2, 1), nn.Linear(2, 1)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return self.used(values)


def two_steps(comm, **options) -> None:
    model = DistributedDataParallel(TwoHeads(), **options)
    for _ in range(2):
        model(torch.ones(1, 2)).sum().backward()


def test_an_unused_parameter_stops_ddp_in_the_second_step(causes) -> None:
    with pytest.raises(RankError) as caught:
        run(two_steps, 2)
    assert causes(str(caught.value)) == ["A parameter that the loss does not use."]
    assert "did not receive grad for rank" in str(caught.value)
    assert run(two_steps, 2, kwargs={"find_unused_parameters": True}).results == [None, None]


def test_on_one_process_the_gradients_that_are_none_name_the_unused() -> None:
    model = TwoHeads()
    model(torch.ones(1, 2)).sum().backward()
    without = [name for name, parameter in model.named_parameters() if parameter.grad is None]
    assert without == ["unused.weight", "unused.bias"]


class Twice(nn.Module):
    """A layer that is used twice, each time under a checkpoint; with another one before it or not."""

    def __init__(self, reentrant: bool, before: bool) -> None:
        super().__init__()
        self.reentrant, self.layer = reentrant, nn.Linear(3, 3)
        self.before = nn.Linear(3, 3) if before else nn.Identity()

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        values = self.before(values)
        for _ in range(2):
            values = checkpoint(self.layer, values, use_reentrant=self.reentrant).tanh()
        return values


def gradient(comm, wrap, reentrant: bool, before: bool) -> torch.Tensor:
    torch.manual_seed(0)
    module = Twice(reentrant, before)
    model = wrap(comm, module)
    inputs = torch.randn(2, 4, 3)[comm.rank].requires_grad_()
    model(inputs).square().mean().backward()
    return module.layer.weight.grad.clone()


def ddp(comm, module: nn.Module) -> nn.Module:
    return DistributedDataParallel(module)


def test_a_layer_used_twice_under_a_reentrant_checkpoint_stops_ddp(causes) -> None:
    with pytest.raises(RankError) as caught:
        run(gradient, 2, args=(ddp, True, True))
    [cause] = causes(str(caught.value))
    assert cause.startswith(USED_TWICE)
    run(gradient, 2, args=(ddp, False, True))


def test_or_it_gives_each_rank_a_wrong_gradient_without_an_error() -> None:
    right, right_too = run(gradient, 2, args=(ddp, False, False)).results
    assert torch.equal(right, right_too)
    one, other = run(gradient, 2, args=(ddp, True, False)).results
    assert not torch.allclose(one, other)
    assert not torch.allclose(one, right)
    ours, _ = run(gradient, 2, args=(DataParallel, True, False)).results
    torch.testing.assert_close(ours, right)


def test_two_sizes_abort_gloo_and_comm_names_both_lines(causes) -> None:
    with pytest.raises(CommError, match="SIGABRT"):
        run(lambda comm: dist.all_reduce(torch.ones(4 + 2 * comm.rank)), 2)
    with pytest.raises(MismatchError) as caught:
        run(lambda comm: ring_all_reduce(comm, torch.ones(4 + 2 * comm.rank)), 2)
    assert causes(str(caught.value)) == [TWO_SIZES]
    assert str(caught.value).count(", line ") == 2


def test_ranks_that_built_other_models_are_refused_by_ddp(causes) -> None:
    with pytest.raises(RankError) as caught:
        run(lambda comm: DistributedDataParallel(nn.Linear(2, 1 + comm.rank)), 2)
    [cause] = causes(str(caught.value))
    assert cause.startswith("Ranks have built other models")


def test_two_dtypes_in_one_unit_are_refused_by_the_first_fsdp(causes) -> None:
    def program(comm):
        layers = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).bfloat16())
        FullyShardedDataParallel(layers, device_id=torch.device("cpu"))

    with pytest.raises(RankError) as caught:
        run(program, 2)
    [cause] = causes(str(caught.value))
    assert cause.startswith("A unit does not fit: two dtypes")


def test_a_plain_tensor_beside_a_sharded_weight_is_refused(causes) -> None:
    def program(comm, whole_layer: bool):
        layer = fully_shard(nn.Linear(2, 2), mesh=init_device_mesh("cpu", (2,)))
        return (layer(torch.ones(2)) if whole_layer else layer.weight @ torch.ones(2)).shape

    with pytest.raises(RankError) as caught:
        run(program, 2, args=(False,))
    [cause] = causes(str(caught.value))
    assert cause.startswith("A sharded parameter meets a plain tensor")
    assert run(program, 2, args=(True,)).results == [(2,), (2,)]


def test_a_plain_tensor_of_a_rank_without_rows_is_empty(causes) -> None:
    def program(comm, whole: bool):
        weight = fully_shard(nn.Embedding(1, 2), mesh=init_device_mesh("cpu", (2,))).weight
        return (weight.full_tensor() if whole else weight.to_local())[0].shape

    with pytest.raises(RankError, match="out of bounds for dimension 0 with size 0") as caught:
        run(program, 2, args=(False,))
    assert any(cause.startswith("A sharded parameter meets a plain tensor") for cause in causes(str(caught.value)))
    assert run(program, 2, args=(True,)).results == [(2,), (2,)]


def test_a_killed_rank_is_named_with_its_signal() -> None:
    def program(comm):
        if comm.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        dist.barrier()

    with pytest.raises(CommError, match=r"rank 1 died without an answer \(signal SIGKILL\)") as caught:
        run(program, 2)
    assert caught.value.symptom == "It dies: Something outside ended it"


KILLED = """
import os, signal, torch, torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
dist.all_reduce(torch.ones(1))
"""


@pytest.mark.slow
def test_torchrun_reports_the_kill_as_the_root_cause(causes, tmp_path) -> None:
    (tmp_path / "killed.py").write_text(KILLED)
    meeting = ["--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--local-addr=localhost"]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", *meeting, "killed.py"]
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=110)
    [killed] = set(causes(ended.stderr)) - {"One rank died, and the others noticed."}
    assert killed.startswith("Something outside ended it: the kernel (9)")
    assert "rank      : 1 (local_rank: 1)" in ended.stderr.partition("Root Cause (first observed failure)")[2]


@pytest.mark.slow
def test_a_machine_that_does_not_come_is_a_time_out_of_torchrun(tmp_path) -> None:
    (tmp_path / "nothing.py").write_text("")
    meeting = ["--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--rdzv-conf=join_timeout=1"]
    command = [sys.executable, "-m", "torch.distributed.run", *meeting, "nothing.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=110)
    assert "RendezvousTimeoutError" in ended.stderr
    assert "`RendezvousTimeoutError`" in PAGE.read_text(encoding="utf-8")


def test_a_taken_port_is_refused_and_port_0_takes_a_free_one(causes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(dist.DistNetworkError) as caught:
            dist.TCPStore("127.0.0.1", taken.getsockname()[1], is_master=True)
        assert causes(str(caught.value)) == ["Another run has the port, or what is left of one."]
        assert dist.TCPStore("127.0.0.1", 0, is_master=True).port not in (0, taken.getsockname()[1])


def test_started_without_torchrun_there_is_no_rank(causes, monkeypatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="RANK expected") as caught:
        dist.init_process_group("gloo")
    [cause] = causes(str(caught.value))
    assert cause.startswith("Started by `python` and not by `torchrun`")


@pytest.mark.skipif(dist.is_nccl_available(), reason="this PyTorch has NCCL")
@pytest.mark.filterwarnings("ignore:Attempted to get default timeout for nccl")
def test_nccl_is_not_in_a_pytorch_for_the_cpu(causes) -> None:
    with pytest.raises(RuntimeError) as caught:
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    [cause] = causes(str(caught.value))
    assert cause.startswith("This PyTorch is one for the CPU")


def test_a_collective_before_the_group_is_refused(causes) -> None:
    assert not dist.is_initialized()
    with pytest.raises(ValueError, match="not been initialized") as caught:
        dist.all_reduce(torch.ones(1))
    [cause] = causes(str(caught.value))
    assert cause.startswith("A collective before `init_process_group`")
