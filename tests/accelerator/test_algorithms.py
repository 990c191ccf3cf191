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
from course_lib import RankError, simulate
from course_lib.chapters import chapters
from course_lib.comm.simulator import communicator as simulated

pytestmark = pytest.mark.timeout(900)  # the first of all waits until the device is compiled

# One of each kind that once failed: a buffer without a device, a hook in autograd's thread, "cpu" written out, NumPy,
# random numbers of the CPU, of several ranks and of a recomputation, and a checkpoint.
BY_DAY = [
    "ring all-reduce",
    "dropout on several ranks",
    "DataParallel, overlap=True",
    "ZeRO: ShardedParameters",
    "gossip",
    "compression: top-k",
    "compression: one bit, cut",
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
    assert not (found := compared(name)), found


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in CASES if name not in BY_DAY])
@on_device
def test_every_other_algorithm_does_so_too(name):
    assert not (found := compared(name)), found


BROKEN = {
    "a buffer of the CPU": (lambda comm, here: here.rand(3) + torch.zeros(3), "PRETEND: aten::add.* mixes devices"),
    "a result of the CPU": (
        lambda comm, here: here.rand(3).cpu(),
        "a result lies on cpu, and rank 0's tensors on pret",
    ),
    "a copy between devices": (lambda comm, here: here.zeros(3).to("pretend:1"), "PRETEND: a copy from pretend:0 to"),
    "another number": (lambda comm, here: here.rand(3) + (here.device.type == "cpu"), "rank 0, result 0: "),
    "one number more": (lambda comm, here: [1.0] * (1 + (here.device.type == "cpu")), "rank 0 has 2 results and 1"),
}


@pytest.mark.parametrize("what", BROKEN)
@on_device
def test_an_algorithm_that_does_not_is_noticed(what):
    program, words = BROKEN[what]
    case(what, 1, on_host=what == "a copy between devices")(program)
    with pytest.raises((AssertionError, RankError), match=words):
        assert not (found := compared(what)), found


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
        named = [(name, thing) for name, thing in vars(module).items() if not name.startswith("_")]
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
