"""A GPT on a mesh of four processes, ours against PyTorch's own dimensions, taking turns: a step, a save, a load."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial

import torch

from benchmarks.row import Row, row_of
from benchmarks.turns import Seconds, launch_s, take_turns
from course_lib.faults import Checkpoints
from course_lib.mesh import (
    Mesh,
    MeshRank,
    MeshTraining,
    backward_on_mesh,
    load_on_mesh,
    optimizer_of,
    part_of,
    save_on_mesh,
    update_on_mesh,
)
from course_lib.mesh.experiments import PyTorchStep
from course_lib.tasks import GPT, GPTConfig

__all__ = ["measure"]

_CONFIG = GPTConfig(vocabulary=256, context=32, layers=4, width=128, heads=4, tied=False)
_SEQUENCES = 16
_MESHES = {"data 2 × tensor 2": (Mesh(2, 1, 2), 1), "pipeline 2 × tensor 2": (Mesh(1, 2, 2), 4)}  # micro-batches


def _both(comm, mesh: Mesh, micro_batches: int, folder: str) -> dict[str, dict[str, Callable[[], float | None]]]:
    """What ours and PyTorch's do alike: a step, which gives its loss, a checkpoint, and reading it."""
    tokens = torch.randint(256, (_SEQUENCES, 33), generator=torch.Generator().manual_seed(0))
    batch = tokens[:, :-1], tokens[:, 1:]
    training = MeshTraining(micro_batches, make_optimizer=torch.optim.Adam, zero=mesh.data > 1)
    part = part_of(MeshRank(comm, mesh), GPT(_CONFIG), training)
    optimizer = optimizer_of(part, training)
    checkpoints = Checkpoints(f"{folder}/ours", comm, keep=1)

    def our_step() -> float:
        optimizer.zero_grad()
        loss = backward_on_mesh(part, batch, training)
        update_on_mesh(part, optimizer, training)
        return loss

    theirs = PyTorchStep(mesh, comm.rank, GPT(_CONFIG), micro_batches, training.make_optimizer)
    ours = (checkpoints, 0, part, optimizer, GPT(_CONFIG))
    return {
        "step": {"torch": lambda: theirs(batch), "ours": our_step},
        "save": {"torch": partial(theirs.save, f"{folder}/torch"), "ours": partial(save_on_mesh, *ours)},
        "load": {"torch": partial(theirs.load, f"{folder}/torch"), "ours": partial(load_on_mesh, *ours)},
    }


def _steps(comm, mesh: Mesh, micro_batches: int, folder: str, turns: int) -> Seconds:
    """Seconds of every step of both on this rank."""
    seconds, losses = take_turns(_both(comm, mesh, micro_batches, folder)["step"], turns)
    assert abs(losses["torch"] - losses["ours"]) < 1e-3, f"both must have the same loss, got {losses}"
    return seconds


def _checkpoints(comm, mesh: Mesh, micro_batches: int, folder: str, turns: int) -> Seconds:
    """Seconds of every save and load of both on this rank; what comes after a load is what came before it."""
    both = _both(comm, mesh, micro_batches, folder)
    for step in both["step"].values():
        step()
    saved, _ = take_turns(both["save"], turns, warm_up=1)
    before = [[step(), step()] for step in both["step"].values()]  # the second loss rests on what Adam keeps, too
    loaded, _ = take_turns(both["load"], turns, warm_up=1)
    after = [[step(), step()] for step in both["step"].values()]
    assert after == before, f"steps after reading must be those after saving, got losses {after} and {before}"
    times = {"save": saved, "load": loaded}
    return {f"{act} {whose}": row for act, found in times.items() for whose, row in found.items()}


def measure(launches: int = 5) -> Iterator[Row]:
    """The fastest of ours over the fastest of PyTorch's, per launch; then the median of the launches."""
    for name, (mesh, micro_batches) in _MESHES.items():
        ratios = []
        for _ in range(launches):
            least = _least_s(_steps, mesh, micro_batches, 20)
            ratios.append(least["ours"] / least["torch"])
        what = f"a step of a GPT on {name}, 4 ranks: ours over PyTorch's, the same loss"
        yield row_of("mesh", what, ratios, "x", "at most 1.1")
    parameters = _CONFIG.parameters
    for name, (mesh, micro_batches) in _MESHES.items():
        found = [_least_s(_checkpoints, mesh, micro_batches, 7) for _ in range(launches)]
        for act in ("save", "load"):
            ratios = [least[f"{act} ours"] / least[f"{act} torch"] for least in found]
            yield row_of(
                "mesh",
                f"to {act} a GPT of {parameters:,} numbers and its Adam on {name}: ours over PyTorch's DCP",
                ratios,
                "x",
            )


def _least_s(program: Callable[..., Seconds], mesh: Mesh, micro_batches: int, turns: int) -> dict[str, float]:
    """The least of the turns: four ranks seldom get four cores to themselves."""
    with tempfile.TemporaryDirectory(prefix="course-bench-") as folder:
        return launch_s(program, mesh.world_size, mesh, micro_batches, folder, turns, typical=min)
