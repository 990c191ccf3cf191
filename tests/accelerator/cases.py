"""Small trainings and messages for every public algorithm of the chapters, the same on every device."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from course_lib.comm import Communicator
from course_lib.tasks import GPTConfig, load_digits
from course_lib.tasks.digits import Digits

ADAM = partial(torch.optim.Adam, lr=0.01)
CONFIG = GPTConfig(vocabulary=24, context=8, layers=4, width=12, heads=4)


class Case(NamedTuple):
    """What is run on how many ranks, and how near the results on two devices must be."""

    program: Callable[[Communicator, Here], Any]
    ranks: int
    tolerance: float
    covers: Sequence[str]  # public names beyond those that the program's own code says
    on_host: bool  # results may lie on the CPU, by design
    not_on_nccl: str  # why it cannot run by NCCL's rules; "" if it can


CASES: dict[str, Case] = {}
FROM_ANYONE = "it receives from anyone, because nobody can know who comes next; its letters lie on the CPU, for Gloo"


def case(
    name: str,
    ranks: int = 3,
    *,
    tolerance: float = 1e-5,
    covers: Sequence[str] = (),
    on_host: bool = False,
    not_on_nccl: str = "",
) -> Callable[..., Any]:
    """Keep a program as a case."""

    def keep(program: Callable[..., Any]) -> Callable[..., Any]:
        assert name not in CASES, name
        CASES[name] = Case(program, ranks, tolerance, covers, on_host, not_on_nccl)
        return program

    return keep


class Here:
    """A rank's tensors and modules: drawn on the CPU, so that they are the same on every device, and moved."""

    def __init__(self, comm: Communicator, folder: str) -> None:
        self.rank, self.device = comm.rank, comm.device
        self.folder = Path(folder)  # one for all ranks

    def rand(self, *shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        drawn = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        return drawn.to(dtype).to(self.device)

    def whole(self, *shape: int, seed: int = 0, low: int = -9, high: int = 10) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(self.device)

    def zeros(self, *shape: int) -> torch.Tensor:
        return torch.zeros(shape, device=self.device)

    def on(self, module: nn.Module) -> Any:
        return module.to(self.device)

    def digits(self) -> Digits:
        return Digits(*(part.to(self.device) for part in load_digits()))

    def batch(self, examples: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
        inputs = self.rand(examples, 5, seed=10 + self.rank)
        return inputs, self.whole(examples, seed=20 + self.rank, low=0, high=3)

    def backward(self, model: nn.Module, examples: int = 4) -> None:
        inputs, labels = self.batch(examples)
        functional.cross_entropy(model(inputs), labels).backward()


def net(seed: int = 0) -> nn.Sequential:
    """Two layers with drawn weights."""
    torch.default_generator.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))


def gradients(module: nn.Module) -> list[torch.Tensor | None]:
    return [parameter.grad for parameter in module.parameters()]


def weights(module: nn.Module) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in module.parameters()]


def flat(value: Any) -> Iterator[Any]:
    """All that is in lists, tuples, dictionaries and modules, in order."""
    if isinstance(value, nn.Module):
        value = value.state_dict()
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from flat(part)
    else:
        yield value


def on_rank(comm: Communicator, name: str, folder: str) -> list[Any]:
    """A case's program on one rank, with its results in a row; they must lie where the rank's tensors live."""
    program, on_host = CASES[name].program, CASES[name].on_host
    found = list(flat(program(comm, Here(comm, folder))))
    for part in found:
        if isinstance(part, torch.Tensor) and part.device != comm.device and not on_host:
            raise AssertionError(f"a result lies on {part.device}, and rank {comm.rank}'s tensors on {comm.device}")
    return [part.detach() if isinstance(part, torch.Tensor) else part for part in found]


def differences(name: str, one: list[list[Any]], other: list[list[Any]]) -> Iterator[str]:
    """Where the results of all ranks on two devices differ by more than they may."""
    tolerance = CASES[name].tolerance
    for rank, (mine, yours) in enumerate(zip(one, other, strict=True)):
        if len(mine) != len(yours):
            yield f"rank {rank} has {len(mine)} results and {len(yours)}"
        for number, (a, b) in enumerate(zip(mine, yours, strict=False)):
            if isinstance(a, torch.Tensor):
                with contextlib.suppress(AssertionError):
                    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
                    continue
            elif a == b or (isinstance(a, float) and abs(a - b) <= max(tolerance, 1e-4) * max(1, abs(a))):
                continue
            yield f"rank {rank}, result {number}: {str(a)[:100]} and {str(b)[:100]}"


def new_folder() -> str:
    return mkdtemp(prefix="case-")
