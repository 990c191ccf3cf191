"""Which backend carries the messages."""

import pytest
import torch

from course_lib.comm.processes.machine import choose_backend


@pytest.fixture
def gpus(monkeypatch):
    def pretend(count: int) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: True)

    return pretend


@pytest.mark.parametrize(
    ("count", "device", "emulated", "backend", "on_gpu"),
    [
        (0, "auto", False, "gloo", False),
        (0, "cpu", False, "gloo", False),
        (4, "auto", False, "nccl", True),
        (8, "cuda", False, "nccl", True),
        (1, "auto", False, "gloo", True),  # 4 ranks share one
        (3, "cuda", False, "gloo", True),
        (4, "cpu", False, "gloo", False),
        (4, "auto", True, "gloo", False),  # slowed links are the CPU's
    ],
)
def test_four_ranks_take_nccl_with_a_gpu_each_gloo_on_shared_ones_and_the_cpu_otherwise(
    gpus, count, device, emulated, backend, on_gpu
):
    gpus(count)
    chosen, tensors_on_gpu, words = choose_backend(device, 4, emulated)
    assert (chosen, tensors_on_gpu) == (backend, on_gpu)
    assert backend in words


def test_gpus_without_nccl_are_used_through_gloo(gpus, monkeypatch):
    gpus(4)
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: False)
    assert choose_backend("auto", 4, False)[:2] == ("gloo", True)


def test_what_cannot_be_is_refused(gpus):
    gpus(0)
    with pytest.raises(ValueError, match="no GPU that torch can use"):
        choose_backend("cuda", 2, False)
    with pytest.raises(ValueError, match='must be "auto", "cpu" or "cuda", got \'tpu\''):
        choose_backend("tpu", 2, False)
    gpus(2)
    with pytest.raises(ValueError, match="network= slows links between processes on the CPU"):
        choose_backend("cuda", 2, True)
