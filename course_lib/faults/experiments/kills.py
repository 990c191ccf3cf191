"""Trainings that are killed at random moments and go on: each life is real processes, and ends by `kill -9`."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import torch

from course_lib.comm import Communicator, RankDiedError, run
from course_lib.data_parallel import state_hash
from course_lib.faults.checkpoints import Checkpoints
from course_lib.faults.training import Training
from course_lib.files import UNFINISHED
from course_lib.tasks import Digits, load_digits

_LONGER = 1.25  # after a life that brought no checkpoint


class Life(NamedTuple):
    """One life of a training.

    Attributes:
        began_at, ended_at: the step that it went on from, and the newest whole checkpoint after it.
        died_at: the last step that it trained; what lies after `ended_at` is lost, and trained again.
        in_a_save: whether it was killed while a checkpoint was being written.
    """

    began_at: int
    ended_at: int
    died_at: int
    in_a_save: bool


class KilledTraining(NamedTuple):
    """A training that was killed again and again until it was done.

    Attributes:
        lives: those that ended by a kill.
        lost: checkpoints of which `save` had returned, and which were not there after a kill.
        weights: hash of the weights at the end, on each rank.
    """

    lives: list[Life]
    lost: int
    weights: list[str]


def kill_later(seconds: float) -> None:
    """Have this process killed by another one, with `kill -9`, after so many seconds."""
    subprocess.Popen(["sh", "-c", f"sleep {seconds:.4f}; kill -9 {os.getpid()}"])


def live(
    comm: Communicator,
    digits: Digits,
    folder: str,
    steps: int,
    every: int,
    lifetime_s: float | None = None,
    victim: int = 0,
    spared_steps: int = 0,
) -> str:
    """Go on from the newest checkpoint, save every so many steps, and return the hash of the weights at the end.

    Args:
        lifetime_s: the victim is killed after so many seconds; None: nobody is.
        spared_steps: the seconds are counted from so many steps on; 0: from the beginning, before anything is loaded.
    """
    torch.set_num_threads(1)
    training, checkpoints = Training(digits, comm), Checkpoints(folder, comm)
    if comm.rank != victim:
        lifetime_s = None
    if lifetime_s is not None and spared_steps == 0:
        kill_later(lifetime_s)
    newest = checkpoints.newest()
    if newest is not None:
        training.load_state_dict(checkpoints.load(newest))
    last_spared = training.step + spared_steps
    while training.step < steps:
        training.train_step()
        _note(folder, f"trained-{comm.rank}", training.step)
        if lifetime_s is not None and spared_steps > 0 and training.step == last_spared:
            kill_later(lifetime_s)
        if training.step % every == 0:
            checkpoints.save(training.step, training.state_dict())
            _note(folder, f"saved-{comm.rank}", training.step)
    return state_hash(training.model)


def kill_training(
    kills: int,
    world_size: int = 1,
    steps: int = 200,
    every: int = 5,
    mean_life_s: float = 0.1,
    seed: int = 0,
    spared_steps: int = 0,
) -> KilledTraining:
    """Kill a random rank at random moments, `kills` times at most, then let the training end.

    After a life without a new checkpoint the next ones are longer, so that it ends on a slow machine, too.

    Args:
        spared_steps: of each life; its seconds are counted from there. With more of them than `every` each life that
            ends by a kill brings a new checkpoint, on the slowest machine, too.
    """
    draw = random.Random(seed)
    digits = load_digits()
    lost = 0
    lives: list[Life] = []
    with tempfile.TemporaryDirectory(prefix="course-kills-") as folder:
        while True:
            lifetime_s = draw.uniform(0, 2 * mean_life_s) if len(lives) < kills else None
            for note in (*Path(folder).glob("trained-*"), *Path(folder).glob("saved-*")):
                note.unlink()  # an earlier life's: what one rank saved in it and another in this one is no checkpoint
            began_at, unfinished = Checkpoints(folder).newest() or 0, set(Path(folder).glob(f"*{UNFINISHED}"))
            args = (digits, folder, steps, every, lifetime_s, draw.randrange(world_size), spared_steps)
            try:
                report = run(live, world_size, args=args)
            except RankDiedError:
                ended_at = Checkpoints(folder).newest() or 0
                in_a_save = bool(set(Path(folder).glob(f"*{UNFINISHED}")) - unfinished)  # not an earlier life's
                died_at = max(ended_at, _noted(folder, "trained", world_size))
                lives.append(Life(began_at, ended_at, died_at, in_a_save))
                lost += ended_at < max(began_at, _noted(folder, "saved", world_size))
                mean_life_s *= _LONGER if ended_at == began_at else 1
            else:
                return KilledTraining(lives, lost, report.results)


def _note(folder: str, name: str, step: int) -> None:
    """Write down how far a rank has come. It needs no sync to outlive the process."""
    with open(Path(folder) / name, "a") as file:
        file.write(f"{step}\n")


def _noted(folder: str, name: str, world_size: int) -> int:
    """How far all ranks have come in this life."""
    files = [Path(folder) / f"{name}-{rank}" for rank in range(world_size)]
    lines = [file.read_text().split() if file.exists() else [] for file in files]  # killed, it may be empty
    return min(int(steps[-1]) if steps else 0 for steps in lines)
