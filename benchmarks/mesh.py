"""A training step of a GPT on a mesh of four processes, ours against PyTorch's own three dimensions, taking turns."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from benchmarks.row import Row, row_of
from benchmarks.turns import Seconds, launch_s, take_turns
from course_lib.data_parallel.zero import ShardedOptimizer
from course_lib.mesh import Mesh, MeshRank, MeshStage, MeshTraining, backward_on_mesh, update_on_mesh
from course_lib.mesh.experiments import PyTorchStep
from course_lib.tasks import GPT, GPTConfig

__all__ = ["measure"]

_CONFIG = GPTConfig(vocabulary=256, context=32, layers=4, width=128, heads=4, tied=False)
_SEQUENCES = 16
_MESHES = {"data 2 × tensor 2": (Mesh(2, 1, 2), 1), "pipeline 2 × tensor 2": (Mesh(1, 2, 2), 4)}  # micro-batches


def _program(comm, mesh: Mesh, micro_batches: int, turns: int) -> Seconds:
    """Seconds of every step of both on this rank."""
    tokens = torch.randint(256, (_SEQUENCES, 33), generator=torch.Generator().manual_seed(0))
    batch = tokens[:, :-1], tokens[:, 1:]
    training = MeshTraining(micro_batches, zero=mesh.data > 1)
    stage = MeshStage(MeshRank(comm, mesh), GPT(_CONFIG))
    make = training.make_optimizer
    optimizer = ShardedOptimizer(stage.here.data, stage, make, [stage]) if training.zero else make(stage.parameters())

    def our_step() -> float:
        optimizer.zero_grad()
        loss = backward_on_mesh(stage, batch, training)
        update_on_mesh(stage, optimizer, training)
        return loss

    theirs = PyTorchStep(mesh, comm.rank, GPT(_CONFIG), micro_batches, make)
    seconds, losses = take_turns({"torch": lambda: theirs(batch), "ours": our_step}, turns)
    assert abs(losses["torch"] - losses["ours"]) < 1e-3, f"both must have the same loss, got {losses}"
    return seconds


def measure(launches: int = 5) -> Iterator[Row]:
    """The fastest of our steps over the fastest of PyTorch's, per launch; then the median of the launches."""
    for name, (mesh, micro_batches) in _MESHES.items():
        ratios = []
        for _ in range(launches):
            # The least of the turns: four ranks seldom get four cores to themselves.
            least = launch_s(_program, mesh.world_size, mesh, micro_batches, 20, typical=min)
            ratios.append(least["ours"] / least["torch"])
        what = f"a step of a GPT on {name}, 4 ranks: ours over PyTorch's, the same loss"
        yield row_of("mesh", what, ratios, "x", "at most 1.1")
