"""PyTorch's own three dimensions train our GPT as one process does."""

import pytest
import torch

from course_lib import run
from course_lib.mesh import Mesh, MeshTraining, train_on_one_process
from course_lib.mesh.experiments import PyTorchStep
from course_lib.tasks import GPT, GPTConfig

CONFIG = GPTConfig(vocabulary=24, context=8, layers=4, width=16, heads=4, tied=False)
TRAINING = MeshTraining(micro_batches=2)


def losses_of(comm, mesh, batches):
    step = PyTorchStep(mesh, comm.rank, GPT(CONFIG).double(), TRAINING.micro_batches, TRAINING.make_optimizer)
    return step.at, [step(batch) for batch in batches]


@pytest.mark.parametrize("shape", [(2, 1, 2), (2, 2, 1)])
def test_pytorchs_losses_are_those_of_one_process(shape):
    mesh, generator = Mesh(*shape), torch.Generator().manual_seed(3)
    batches = [tuple(torch.randint(24, (8, 4), generator=generator) for _ in range(2)) for _ in range(3)]
    results = run(losses_of, mesh.world_size, args=(mesh, batches), echo=False, device="cpu").results
    ends = [losses for at, losses in results if at.pipeline == mesh.pipeline - 1 and at.tensor == 0]
    losses, _ = train_on_one_process(GPT(CONFIG).double(), batches, TRAINING)
    assert [sum(step) / mesh.data for step in zip(*ends, strict=True)] == pytest.approx(losses, abs=1e-12)


def test_a_tied_output_is_refused():
    with pytest.raises(ValueError, match="tied=False"):
        PyTorchStep(Mesh(), 0, GPT(GPTConfig()), 1, torch.optim.SGD)
