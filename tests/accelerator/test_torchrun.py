"""A program under torchrun, on the stand-in device: rank r on device r, and what carried its messages is said."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from compiled import why_not

PROGRAM = """
import torch
from torch import nn
from course_lib.collectives import ring_all_reduce
from course_lib.data_parallel import DataParallel

def train(comm):
    torch.manual_seed(0)
    wrapped = DataParallel(comm, nn.Linear(3, 1).to(comm.device), 8, overlap=True)
    wrapped(torch.ones(2, 3, device=comm.device) * comm.rank).sum().backward()
    wrapped.finish()
    ring_all_reduce(comm, total := torch.full((5,), comm.rank + 1.0, device=comm.device))
    return str(comm.device), total.sum().item(), wrapped.module.weight.grad.sum().item()
"""


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first of all waits until the device is compiled
@pytest.mark.parametrize(("device", "ranks"), [("gpu", 2), ("gpu", 4), ("cpu", 2)])
def test_torchrun_gives_each_rank_a_device_of_its_own(device, ranks, tmp_path):
    if why := why_not():
        pytest.skip(why)
    (tmp_path / "mine.py").write_text(PROGRAM)
    here, root = Path(__file__).parent, Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (here / "autoload", here, root)))}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    command += ["-m", "course_lib", "run", "mine:train", "--device", device]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    total, gradient = 5.0 * sum(range(1, ranks + 1)), 3 * sum(2 * rank for rank in range(ranks)) / ranks
    for rank in range(ranks):
        assert repr((f"pretend:{rank}" if device == "gpu" else "cpu", total, gradient)) in done.stdout
    carrier = "gloo through host memory"
    assert (f"{carrier}, {ranks} ranks on 8 GPUs: {carrier} " if device == "gpu" else "gloo, cpu") in done.stdout
