"""Every public algorithm of the chapters runs where its tensors are: rank r on device r, and equal to the CPU's."""

import functools
import importlib
import inspect
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import cases_gradients  # noqa: F401  (each module of cases adds its own)
import cases_layers  # noqa: F401
import cases_messages  # noqa: F401
import cases_pipelines  # noqa: F401
import cases_rest  # noqa: F401
import cases_servers  # noqa: F401
import pytest
import torch
from cases import CASES, case, differences, new_folder, on_rank
from on_device import on_device

import course_lib
from course_lib import simulate
from course_lib.chapters import chapters
from course_lib.comm.simulator import communicator as simulated

# One of each kind that once failed: a buffer without a device, a hook in autograd's thread, "cpu" written out, NumPy,
# random numbers of the CPU, of several ranks and of a recomputation, and a checkpoint.
BY_DAY = [
    "ring all-reduce",
    "dropout on several ranks",
    "DataParallel, overlap=True",
    "ZeRO: ShardedParameters",
    "gossip",
    "compression: top-k",
    "compression: QSGD",
    "compression: PowerSGD, its state saved and loaded",
    "servers: synchronous",
    "attention over a cut sequence",
    "masks that are a rank's own, and masks that are everyone's",
    "pipeline: 1F1B",
    "pipeline: recomputed dropout is the same dropout",
    "mesh: all three ways",
    "faults: a checkpoint, and what is read of it",
    "faults: random numbers go on",
]
# Public, and not called by a case's own code: who runs it, or why nobody need.
ELSEWHERE = {
    "ddp_hook": "torch's own DistributedDataParallel calls it, in real processes",
    "read_share": "it reads the bytes of an object store, and has no tensors",
    "Checkpoints": "'faults: a checkpoint, and what is read of it'",
    "Training": "'faults: a training that is saved and goes on'",
}


def _receive(into: torch.Tensor, arrived: torch.Tensor, plain=simulated.receive) -> None:
    """A message: the one thing that may cross from one device to another."""
    before = torch.pretend.let_cross(True)
    plain(into, arrived)
    torch.pretend.let_cross(before)


def compared(name: str) -> list[str]:
    """How a case's results on eight devices differ from those on the CPU; nothing but messages may cross."""
    simulated.receive = _receive
    torch.pretend.let_cross(False)
    folders = [new_folder() for _ in range(2)]
    try:
        on_cpu, on_devices = (
            simulate(on_rank, CASES[name].ranks, (name, folder), device=device).results
            for device, folder in zip(("cpu", "gpu"), folders, strict=True)
        )
        return list(differences(name, on_cpu, on_devices))
    finally:
        for folder in folders:
            shutil.rmtree(folder)


@pytest.mark.parametrize("name", BY_DAY)
@on_device
def test_an_algorithm_gives_on_devices_what_it_gives_on_the_cpu(name):
    assert compared(name) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in CASES if name not in BY_DAY])
@on_device
def test_every_other_algorithm_does_so_too(name):
    assert compared(name) == []


BROKEN = {
    "a buffer of the CPU": lambda comm, here: here.rand(3) + torch.zeros(3),
    "a result of the CPU": lambda comm, here: here.rand(3).cpu(),
    "a copy from another rank's device": lambda comm, here: torch.ones(3, device="pretend:1").to("pretend:0"),
    "another number": lambda comm, here: here.rand(3) + (here.device.type == "cpu"),
    "one number more": lambda comm, here: [1.0] * (1 + (here.device.type == "cpu")),
    "numbers that are the device's": lambda comm, here: torch.rand(3, device="pretend:7").to("cpu").to(here.device),
}


@pytest.mark.parametrize("what", BROKEN)
@on_device
def test_an_algorithm_that_does_not_is_noticed(what):
    case(what, 1)(BROKEN[what])
    try:
        found = compared(what)
    except Exception as error:
        found = [str(error)]
    assert found


def test_by_day_there_are_cases_of_this_table():
    assert set(BY_DAY) <= set(CASES)


def _packages() -> Iterator[str]:
    root = Path(course_lib.__file__).parent
    for chapter in chapters():
        for file in sorted((root / chapter.name).rglob("__init__.py")):
            if "experiments" not in file.parts:
                yield ".".join(("course_lib", *file.parent.relative_to(root).parts))


def _takes_a_communicator(thing: object) -> bool:
    own = vars(thing) if inspect.isclass(thing) else {"itself": thing}
    functions = [
        each for name, each in own.items() if inspect.isfunction(each) and (name[0] != "_" or name[:2] == "__")
    ]
    parameters = [parameter for each in functions for parameter in inspect.signature(each).parameters.values()]
    return any("Communicator" in str(p.annotation) or p.name == "comm" for p in parameters)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def test_every_public_algorithm_of_a_chapter_has_a_case():
    public = set()
    for package in _packages():
        module = importlib.import_module(package)
        named = [(name, getattr(module, name)) for name in getattr(module, "__all__", ())]
        public |= {name for name, thing in named if callable(thing) and _takes_a_communicator(thing)}
    run = set(ELSEWHERE)
    for one in CASES.values():
        program = one.program
        while isinstance(program, functools.partial):
            run |= {getattr(value, "__name__", "") for value in program.keywords.values()}
            program = program.func
        run |= {*one.covers, *_names_in(program.__code__)}
    assert len(public) > 100
    assert public - run == set()
