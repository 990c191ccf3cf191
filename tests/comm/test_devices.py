"""Which backend carries the messages."""

import pytest
import torch

from course_lib.comm.processes.machine import choose_backend


@pytest.fixture
def gpus(monkeypatch):
    def pretend(count: int, kind: str = "cuda") -> None:
        current = torch.device(kind) if count else None
        monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available=False: current)
        monkeypatch.setattr(torch.accelerator, "device_count", lambda: count)
        monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: True)
        monkeypatch.setattr(torch.distributed, "is_xccl_available", lambda: True)

    return pretend


@pytest.mark.parametrize(
    ("count", "device", "emulated", "backend", "on_gpu"),
    [
        (0, "auto", False, "gloo", False),
        (0, "cpu", False, "gloo", False),
        (4, "auto", False, "nccl", True),
        (8, "gpu", False, "nccl", True),
        (8, "cuda", False, "nccl", True),
        (1, "auto", False, "gloo", True),  # 4 ranks share one
        (3, "gpu", False, "gloo", True),
        (4, "cpu", False, "gloo", False),
        (4, None, False, "gloo", False),
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


@pytest.mark.parametrize(("kind", "backend", "on_gpu"), [("xpu", "xccl", True), ("mps", "gloo", False)])
def test_any_accelerator_with_float64_will_do(gpus, kind, backend, on_gpu):
    gpus(4, kind)
    assert choose_backend("auto", 4, False)[:2] == (backend, on_gpu)


@pytest.mark.parametrize(
    ("said", "emulated", "on_gpu"), [("gpu", False, True), ("gpu", True, False), ("", False, False)]
)
def test_without_a_word_the_variable_decides_and_slowed_links_stay_the_cpus(gpus, monkeypatch, said, emulated, on_gpu):
    gpus(4)
    monkeypatch.setenv("COURSE_DEVICE", said)
    assert choose_backend(None, 4, emulated)[1] is on_gpu
    assert choose_backend("cpu", 4, emulated)[1] is False


def test_what_cannot_be_is_refused(gpus):
    gpus(0)
    with pytest.raises(ValueError, match='device="gpu", but this machine has no such accelerator'):
        choose_backend("gpu", 2, False)
    with pytest.raises(ValueError, match='device="cuda", but this machine has no such accelerator'):
        choose_backend("cuda", 2, False)
    with pytest.raises(ValueError, match='must be "cpu", "gpu" or "auto", got \'tpu\''):
        choose_backend("tpu", 2, False)
    gpus(2)
    with pytest.raises(ValueError, match="network= slows links between processes on the CPU"):
        choose_backend("gpu", 2, True)
