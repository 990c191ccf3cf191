"""A rank under grading: the same communicator, and nothing else within reach."""

import inspect
import json
import os
import platform
import shutil
import subprocess
import sys

import pytest
from grading_example import cells

from course_lib.comm.communicator import Communicator, Work
from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.judge import protection
from course_lib.grading.judge.grader import Grader
from course_lib.grading.judge.launcher import Launcher
from course_lib.grading.sandbox import seccomp
from course_lib.grading.sandbox.communicator import GradedCommunicator, GradedWork

pytestmark = pytest.mark.skipif(protection.best_level() == "unsafe", reason="no isolation on this system")


def _public(cls):
    return {
        name: list(inspect.signature(value).parameters.values())
        for name, value in inspect.getmembers(cls, callable)
        if not name.startswith("_")
    }


@pytest.mark.parametrize(("course", "graded"), [(Communicator, GradedCommunicator), (Work, GradedWork)])
def test_the_graded_communicator_has_every_method_of_the_courses_with_the_same_arguments(course, graded):
    for name, parameters in _public(course).items():
        mine = _public(graded)[name]
        assert [(p.name, p.default) for p in mine] == [(p.name, p.default) for p in parameters], name


@pytest.fixture(scope="module", params=["filter", protection.best_level()])
def said(request):
    """A function that runs code in a rank and gives back the text it returns."""
    with Launcher(protection.LEVELS[request.param]) as launcher:

        def say(source: str) -> str:
            heard = []
            case = Case(1, [()], [lambda value: heard.append(value) and None])
            one = Exercise("97a", "Say", "say", 1, lambda rng: [case], answer="return", mode="function")
            body = "\n".join("    " + line for line in source.splitlines())
            code = f"def say():\n    import os, sys\n    try:\n    {body.replace(chr(10), chr(10) + '    ')}\n"
            grade = Grader(launcher).grade(one, cells(code + "    except OSError as error:\n        return str(error)"))
            return heard[0] if heard else grade.messages[0]

        yield say


@pytest.mark.parametrize(
    "call",
    [
        "open('/etc/passwd')",
        "open('/tmp/new', 'w')",
        "os.listdir('/')",
        "os.fork()",
        "os.kill(os.getpid(), 0)",
        "os.pipe()",
        "os.memfd_create('x')",
        "os.stat('/')",
        "os.sched_setaffinity(0, {0})",
        "os.setpriority(0, 0, 5)",
        "os.execv('/bin/sh', ['sh'])",
        "os.getppid() > 0 or open('/')",
        "__import__('socket').socket()",
        "__import__('mmap').mmap(3, 10)",
    ],
)
def test_a_rank_may_do_nothing_but_compute(said, call):
    assert "not permitted" in said(f"return repr({call})") or "denied" in said(f"return repr({call})")


FUTEX = """
import ctypes
libc, word = ctypes.CDLL(None, use_errno=True), ctypes.c_uint32(0)
woken = libc.syscall({number}, ctypes.byref(word), {operation}, 1, None)
return str(woken if woken >= 0 else ctypes.get_errno())"""


@pytest.mark.parametrize(("operation", "heard"), [(1 | 128, "0"), (1, "1"), (0, "1"), (9 | 256, "1"), (10 | 128, "0")])
def test_a_rank_wakes_nobody_but_itself(said, operation, heard):
    number = seccomp.ALLOWED["futex"][["x86_64", "aarch64"].index(platform.machine())]
    assert said(FUTEX.format(number=number, operation=operation).strip()) == heard  # 1: not permitted


@pytest.mark.parametrize("advice", [3, 9, 12, 21, 25])
def test_a_rank_gives_no_advice_about_pages_that_others_share(said, advice):
    with_kernel = "import mmap\nmmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).madvise"
    assert "not permitted" in str(said(f"{with_kernel}({advice})"))


def test_a_rank_may_take_half_a_gigabyte_of_memory_and_no_more(said):
    assert said("import torch\nreturn torch.empty(400 << 20, dtype=torch.uint8).numel() >> 20") == 400
    assert "asked for more memory than a rank may take" in said(
        "import torch\ntorch.empty(600 << 20, dtype=torch.uint8)"
    )


def test_a_rank_holds_no_descriptor_but_its_socket(said):
    source = """
held = 0
for number in range(1024):
    try:
        os.read(number, 0)
        held += 1
    except OSError:
        pass
return held"""
    assert said(source.strip()) == 1


def test_a_rank_has_no_module_of_the_course_but_stubs_the_network_and_the_communicators_contract(said):
    source = """
ours = [name for name in sys.modules if name.startswith("course_lib") and hasattr(sys.modules[name], "__file__")]
return " ".join(ours)"""
    names = ["network", "source_location", "collective", "communicator", "group"]
    assert said(source.strip()).split() == [f"course_lib.comm.{name}" for name in names]


def test_a_rank_can_compute_draw_random_numbers_sleep_and_differentiate(said):
    source = """
import torch, numpy as np, random, time, math, itertools
time.sleep(0.001)
w = torch.ones(3, requires_grad=True)
(w * 2).sum().backward()
return float(w.grad.sum()) + np.random.default_rng().random() * 0 + random.random() * 0 + float(torch.rand(2)[0]) * 0
"""
    assert said(source.strip()) == 6.0


@pytest.mark.parametrize(
    ("lost", "left"), [("-sys_admin", ["seccomp", "users"]), ("-sys_admin,-setuid,-setgid", ["seccomp"])]
)
def test_walls_that_a_container_refuses_are_named_and_the_others_stand(lost, left):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root, to give up some of its rights")
    program = (
        "import json, sys; from course_lib.grading.judge.launcher import Launcher; "
        "from course_lib.grading.judge.protection import LEVELS\n"
        "with Launcher(LEVELS['root']) as launcher:\n"
        "    launcher.start(); json.dump([launcher.walls.words(), launcher.notes], sys.stdout)"
    )
    command = ["setpriv", f"--bounding-set={lost}", "--inh-caps=-all", sys.executable, "-c", program]
    walls, notes = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert walls == left
    assert len(notes) == 3 - len(left)


def test_each_call_is_allowed_under_one_number_per_architecture():
    for column in (0, 1):
        numbers = [pair[column] for pair in seccomp.ALLOWED.values()]
        assert len(set(numbers)) == len(numbers)


def test_a_refusal_says_what_to_do():
    assert "container" in protection.refusal()
    assert "--unsafe" in protection.refusal()
