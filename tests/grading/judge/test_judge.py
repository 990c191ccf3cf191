"""The judge: right answers of any structure get full marks, wrong ones a message, and nothing ends the judge."""

import re
import time
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
import torch
from grading_example import ANSWERS, RIGHT, RING, cells

from course_lib.grading import check, rules
from course_lib.grading.exercise import Case, Exercise, Part, Rule, whole_numbers
from course_lib.grading.exercises import find
from course_lib.grading.judge import protection
from course_lib.grading.judge.grader import Grader, Limits
from course_lib.grading.judge.launcher import Launcher
from course_lib.grading.sandbox.frames import Frame


@pytest.fixture(scope="module")
def grader():
    if protection.best_level() == "unsafe":
        pytest.skip("no isolation on this system")
    with Launcher(protection.LEVELS["filter"]) as launcher:
        launcher.start()
        yield Grader(launcher, b"the same every time", Limits(cpu_s=1, timeout_s=5.0))


@pytest.mark.parametrize("name", ANSWERS)
def test_each_right_answer_gets_its_points(grader, name):
    source, points = ANSWERS[name]
    for student in "abc":  # with other inputs and other changed messages
        grade = grader.grade(RING, cells(source), student)
        assert grade.points == points, grade.messages


HEAD = "def ring_sum(comm, tensor):\n    "
SEND_TO_ALL = "for r in range(comm.world_size):\n        r == comm.rank or comm.isend(tensor, r)\n    "
CHANGES_WHAT_IT_SENDS = (
    "if comm.world_size > 1:\n        sent = comm.isend(tensor, (comm.rank + 1) % comm.world_size)\n"
    "        tensor += 1\n"
    "        comm.recv(tensor.clone(), (comm.rank - 1) % comm.world_size)\n        sent.wait()"
)
NEVER_WAITS = (
    "if comm.world_size > 1:\n        comm.isend(tensor, (comm.rank + 1) % comm.world_size)\n"
    "        comm.recv(other := tensor.clone(), (comm.rank - 1) % comm.world_size)\n        tensor += other"
)
ASKS_FOR_EVER = (
    "while comm.world_size > 1:\n        sent = comm.isend(tensor.clone(), 1 - comm.rank)\n"
    "        comm.recv(tensor, 1 - comm.rank)\n        sent.wait()"
)
WRONG = {
    HEAD + "pass": "is right; the first difference is at element 0",
    HEAD + "raise NotImplementedError": "not attempted yet",
    "def other(comm): pass": "no cell defines ring_sum",
    "def ring_sum(comm, tensor) pass": "cell 1 is not Python",
    "def ring_sum(tensor): pass": "takes 1 positional argument",
    HEAD + "comm.recv(tensor)": "no rank can go on",
    HEAD + "if comm.world_size > 1: comm.recv(tensor, comm.rank - 1)": "src must be a rank from 0 to 1",
    HEAD + "1 / 0": "rank 0 raised ZeroDivisionError: division by zero (code cell 1, line 2: 1 / 0)",
    HEAD + "while True: pass": "still busy after 1 s of CPU time, in code cell 1, line 2",
    HEAD + "import time; time.sleep(99)": "neither finished nor said anything after 5 s",
    HEAD + "import os; os._exit(3)": "ended without an answer (exit code 3)",
    "import ctypes\n" + HEAD + "ctypes.string_at(8)": "was ended by SIGSEGV",
    HEAD + "import torch; torch.ones(10**11)": "asked for more memory",
    HEAD + "open('/etc/passwd')": "Operation not permitted",
    HEAD + CHANGES_WHAT_IT_SENDS: "a tensor was changed while it was being sent: wait() for its isend first",
    HEAD + NEVER_WAITS: "tensor was changed after its isend (code cell 1, line 3), and nothing had waited for that",
    HEAD + "bytearray(10**10)": "asked for more memory than a rank may take",
    HEAD + "yield": "the function has a yield in it",
    "async " + HEAD + "pass": "the function is an async def",
    HEAD + "raise SystemExit('4 of 4')": "rank 0 raised SystemExit: 4 of 4",
    HEAD + "comm.compute(-1)": "seconds must be a number of 0 or more, rank 0 got -1",
    HEAD + "import threading as t; t.Thread(target=t.Event().wait).start()": "under grading a rank has one thread",
    HEAD + ASKS_FOR_EVER: "an endless loop?",
    "from course_lib.data_parallel import average\n"
    + HEAD
    + "average(comm, tensor)": "data_parallel.average is not there",
    "from course_lib import parameter_server\n"
    + HEAD
    + "parameter_server.Server(0)": "parameter_server.Server is not there",
    HEAD + SEND_TO_ALL: "messages waited for their other side",
    HEAD + SEND_TO_ALL + "comm.world_size == 1 or comm.recv(tensor[1:].clone())": "Both sides need the same dtype",
    HEAD + "from course_lib.collectives import ring_all_reduce as ring; ring(comm, tensor)": (
        "course_lib.collectives.ring_all_reduce is not there under grading: what it does is yours to write"
    ),
    HEAD + "from course_lib.tasks import digits\n    for one in digits: pass": "course_lib.tasks.digits is not there",
    HEAD + "from course_lib.grading.exercises import chapter_02": "the specifications belong to the judge",
    HEAD + "import torch.distributed as dist; dist.all_reduce(tensor)": "all_reduce is not there under grading",
    "import ring_of_mars\n" + HEAD + "ring_of_mars.ring(comm)": "No module named 'ring_of_mars'",
}


@pytest.mark.parametrize("source", WRONG)
def test_each_wrong_answer_gets_no_points_and_the_reason(grader, source):
    grade = grader.grade(RING, cells(source))
    assert grade.points == 0
    assert WRONG[source] in grade.messages[0]
    assert grader.grade(RING, cells(RIGHT)).points == 4


def test_a_result_that_nobody_can_read_is_named_and_one_that_nobody_asked_for_is_not_read(grader):
    exercise = find("01a")
    messages = grader.grade(exercise, cells(f"def {exercise.function}(*_):\n    return 10**10000")).messages
    assert "its result cannot be read by the judge (OverflowError" in messages[0]
    assert grader.grade(RING, cells(f"{RIGHT}\n    return 10**10000")).points == 4


def test_a_deadlock_names_the_circle_and_the_lines(grader):
    source = HEAD + "if comm.world_size > 1:\n        comm.recv(tensor, (comm.rank + 1) % comm.world_size)"
    (message,) = grader.grade(RING, cells(source)).messages
    assert "rank 1 waits in recv from 0, code cell 1, line 3" in message
    assert "the circle: 0 -> 1 -> 0" in message


def test_sending_past_the_neighbor_is_named_with_ranks_bytes_and_step(grader):
    source = """
import torch
def ring_sum(comm, tensor):
    others = [r for r in range(comm.world_size) if r != comm.rank]
    sent = [comm.isend(tensor, r) for r in others]
    incoming = {r: torch.empty_like(tensor) for r in others}
    received = [comm.irecv(incoming[r], r) for r in others]
    for work in sent + received:
        work.wait()
    tensor += sum(incoming.values())
"""
    grade = grader.grade(RING, cells(source))
    assert grade.points == 0
    assert "here a rank sends only to its right neighbor" in grade.messages[0]


# Which cells run


def test_helpers_in_other_cells_work_and_their_loops_do_not_run(grader):
    helper = "P = 2\ndef help_me(comm, tensor): ring(comm, tensor)\nwhile True: pass"
    ring = RIGHT.replace("ring_sum", "ring")
    answer = "%matplotlib inline\n!ls\ndef ring_sum(comm, tensor):\n    help_me(comm, tensor)\nring_sum(1, 2)"
    grade = grader.grade(RING, [("other", ring), ("other", helper), ("answer", answer)])
    assert grade.points == 4, grade.messages


def test_the_usual_imports_of_a_notebook_cost_nothing(grader):
    setup = """
from __future__ import annotations
import matplotlib.pyplot as plt, numpy as np
from course_lib import Communicator, Network, run, simulate
from course_lib.grading import check, hint
from course_lib.collectives import ALL_REDUCES
plt.rcParams["figure.dpi"] = 100
report = run(print, world_size=4)
"""
    answer = RIGHT.replace(
        "(comm, tensor):", "(comm: Communicator | None, tensor: torch.Tensor) -> None:\n    print('hi')", 1
    )
    answer += "\ncheck('99a', ring_sum)\nreport = simulate(ring_sum)\nreport.trace.total_bytes"
    grade = grader.grade(RING, [("setup", setup), ("answer", answer)])
    assert grade.points == 4, grade.messages


OPTIMIZER = """
import torch

def ring_sum(comm, tensor):
    weight = torch.nn.Parameter(tensor.clone())
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad):
        optimizer = kind([weight], lr=0.0)
        optimizer.zero_grad()
        (weight**2).sum().backward()
        optimizer.step()
    plain_sum(comm, weight.detach())
    tensor.copy_(weight.detach())
"""


def test_an_optimizer_of_torch_works_although_no_module_can_be_loaded_any_more(grader):
    both = [("other", RIGHT.replace("ring_sum", "plain_sum")), ("answer", OPTIMIZER)]
    grade = grader.grade(RING, both)
    assert (grade.points, grade.messages) == (4, [])


AUTOGRAD = """
import torch

def ring_sum(comm, tensor):
    weight = tensor.clone().requires_grad_()
    print(weight, f"{tensor}")
    (weight * 1).backward(tensor)
    _, back = torch.func.vjp(lambda x: x * 1, weight.grad)
    total = back(weight.grad)[0].detach().clone()
    plain_sum(comm, total)
    tensor.copy_(total)
"""


def test_tensors_are_shown_and_their_gradients_go_back_although_no_module_can_be_loaded_any_more(grader):
    both = [("other", RIGHT.replace("ring_sum", "plain_sum")), ("answer", AUTOGRAD)]
    grade = grader.grade(RING, both)
    assert (grade.points, grade.messages) == (4, [])


NUMPY = """
import datetime
import numpy as np, torch

def ring_sum(comm, tensor):
    assert list(np.unique(["F1", "B0", "F1"])) == ["B0", "F1"]
    assert datetime.datetime.strptime("2026-11-22", "%Y-%m-%d").day == 22
    assert np.percentile([1, 2, 3], 50) == np.quantile([1, 2, 3], 0.5) == 2
    assert np.polynomial.Polynomial([1, 2])(3) == 7 and np.fft.fft([1, 0])[0] == 1
    np.testing.assert_array_equal(np.union1d([1], [2]), [1, 2])
    plain_sum(comm, tensor)
"""


def test_what_is_loaded_when_it_is_first_used_is_there(grader):
    both = [("other", RIGHT.replace("ring_sum", "plain_sum")), ("answer", NUMPY)]
    grade = grader.grade(RING, both)
    assert (grade.points, grade.messages) == (4, [])


BARS = """
import tqdm.notebook
from tqdm import tqdm as bar
from tqdm.auto import trange

def ring_sum(comm, tensor):
    for _ in bar([1]):
        for _ in trange(1):
            for _ in tqdm.notebook.tqdm(range(1)):
                plain_sum(comm, tensor)
"""


def test_a_progress_bar_costs_nothing(grader):
    both = [("other", RIGHT.replace("ring_sum", "plain_sum")), ("answer", BARS)]
    grade = grader.grade(RING, both)
    assert (grade.points, grade.messages) == (4, [])


def test_the_last_definition_counts_as_in_the_notebook(grader):
    grade = grader.grade(RING, [("answer", RIGHT), ("answer", "def ring_sum(comm, tensor): pass")])
    assert grade.points == 0


# The clock and the counts


def test_the_judge_counts_what_the_simulator_counts(grader):
    from course_lib.grading.rehearsal.cases import run_case

    names = {}
    exec(RIGHT, names)
    for case in RING.cases(np.random.default_rng(0)):
        judged = grader.session(RING, cells(RIGHT)).trial(case).trace
        simulated = run_case(RING, case, names["ring_sum"]).trace
        assert judged.messages == simulated.messages


def test_receiving_from_anyone_gives_the_same_order_every_time(grader):
    source = """
import torch
def order(comm, tensor):
    if comm.rank:
        comm.compute(3 - comm.rank)
        comm.send(tensor, 0)
        return 0
    buffer = torch.empty_like(tensor)
    return comm.recv(buffer) * 10 + comm.recv(buffer)
"""
    cases = lambda rng: [Case(3, [(torch.ones(1),)] * 3, [21, 0, 0])]  # noqa: E731
    one = Exercise("98a", "Order", "order", 1, cases, answer="return", clock=True, perturbation=None)
    for _ in range(5):
        assert grader.grade(one, cells(source)).points == 1


# Barriers

OPEN_DURING_A_BARRIER = """
import torch
def order(comm, tensor):
    if comm.rank == 0:
        buffer = torch.empty({length})
        received = comm.irecv(buffer)  # from anyone, and open while the barrier's messages pass
    comm.barrier()
    if comm.rank == 1:
        comm.send(torch.ones({length}), 0)
    if comm.rank == 0:
        received.wait()
        return received.source_rank()
    return -1
"""


@pytest.mark.parametrize("length", [0, 3])  # 0: as a barrier's own messages
def test_a_receive_from_anyone_takes_nothing_of_a_barrier(grader, length):
    cases = lambda rng: [Case(3, [(torch.ones(1),)] * 3, [1, -1, -1])]  # noqa: E731
    one = Exercise("98d", "Order", "order", 1, cases, answer="return", perturbation=None)
    grade = grader.grade(one, cells(OPEN_DURING_A_BARRIER.format(length=length)))
    assert grade.points == 1, grade.messages


def test_a_barrier_is_judged_as_it_is_simulated(grader):
    from course_lib import simulate

    source = "def meet(comm, tensor):\n    comm.barrier()\n    comm.barrier()"
    names = {}
    exec(source, names)
    case = Case(5, [(torch.ones(1),)] * 5, [torch.ones(1)] * 5)
    one = Exercise("98e", "Meet", "meet", 1, lambda rng: [case], perturbation=None)
    judged = grader.session(one, cells(source)).trial(case).trace
    simulated = simulate(names["meet"], 5, (torch.ones(1),), network=one.network).trace
    assert judged.messages == simulated.messages


# What a frame of a send may say besides: that it is a barrier's, if it is empty.
FORGED = {
    "data": ("torch.ones(3)", "1", True),
    "no truth value": ("torch.ones(0)", "1", 2),
    "no peer": ("torch.ones(0)", "-1", True),
}


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("kind", [Frame.SEND, Frame.RECV])
def test_a_barrier_frame_that_says_anything_is_refused(grader, name, kind):
    tensor, peer, apart = FORGED[name]
    content = tensor if kind == Frame.SEND else f"torch.ones(0), list({tensor}.shape)"
    source = f"""
import torch
def ring_sum(comm, tensor):
    if comm.world_size > 1 and comm.rank == 0:
        comm._socket.tell({kind}, [99, {peer}, {content}, "", {apart}])
"""
    (message,) = grader.grade(RING, cells(source)).messages
    assert "rank 0 sent the judge something that is no proper frame" in message


# Started functions

STARTED = (
    RIGHT.replace("def ring_sum(", "def ring(")
    + """
def ring_sum(comm, tensor):
    work = comm.start(ring, tensor)
    work.wait()
    assert work.result is None
"""
)


def test_a_started_function_is_judged_with_its_program(grader):
    grade = grader.grade(RING, cells(STARTED))
    assert grade.points == 4, grade.messages


def test_what_a_started_function_raises_is_raised_where_its_program_waits(grader):
    source = HEAD + "work = comm.start(lambda comm: 1 / 0)\n    work.wait()"
    (message,) = grader.grade(RING, cells(source)).messages
    assert "rank 0 raised ZeroDivisionError: division by zero (code cell 1, line 2" in message


# Other kinds of exercises


def _calls(rng):
    inputs = [(float(n), int(p)) for n, p in zip(rng.integers(1, 1000, 5), rng.integers(1, 9, 5), strict=True)]
    yield Case(1, inputs, [[n * p, p] for n, p in inputs])


FUNCTION = Exercise("98b", "Cost", "cost", 2, _calls, answer="return", mode="function", tolerance=1e-9)


def test_a_plain_function_is_graded_by_its_values(grader):
    assert grader.grade(FUNCTION, cells("def cost(n, p): return n * p, p")).points == 2
    wrong = grader.grade(FUNCTION, cells("def cost(n, p): return n + p, p"))
    assert wrong.points == 0
    assert wrong.messages[0].startswith("world_size 1: cost(")


def _words_of_judge(grader, exercise=FUNCTION, student="ann", code="return 0.0, p"):
    """What the judge says of a wrong answer: the numbers that it drew are in it."""
    return grader.grade(exercise, cells(f"def cost(n, p): {code}"), student).messages


def test_the_same_secret_gives_the_same_grade_again(grader):
    launcher, words = grader.launcher, _words_of_judge(grader)
    assert words == _words_of_judge(grader) == _words_of_judge(Grader(launcher, grader.secret))
    assert words != _words_of_judge(Grader(launcher))


def test_the_numbers_are_other_ones_for_another_answer_and_student(grader):
    answers = {str(_words_of_judge(grader, code=code)) for code in ("return 0.0, p", "return 0.0,  p")}
    students = {str(_words_of_judge(grader, student=student)) for student in ("ann", "bob")}
    assert len(answers) == len(students) == 2


def test_an_answer_that_looks_up_what_the_judge_said_before_meets_other_numbers(grader):
    known: dict[str, str] = {}
    for _ in range(3):
        source = f"def cost(n, p): return {known}.get(f'{{n}}, {{p}}', 0.0), p"
        grade = grader.grade(FUNCTION, cells(source), "ann")
        assert grade.points == 0
        call, right = re.search(r"cost\((.*?)\) gave 0 where (\S+) is right", grade.messages[0]).groups()
        assert call not in known
        known[call] = right


LOOKS = RIGHT.replace("        here.add_", "        {look}\n        here.add_")


def _round_numbers(rng):
    for size, length in [(3, 40), (4, 67)]:
        inputs = [101 * whole_numbers(rng, length, most=20) for _ in range(size)]
        yield Case(size, [(tensor,) for tensor in inputs], [sum(inputs)] * size, perturb=1)


@pytest.mark.parametrize("look", ["assert incoming.abs().max() < 1e4", "assert (incoming == incoming.round()).all()"])
def test_an_answer_may_say_what_data_can_be(grader, look):
    assert grader.grade(replace(RING, cases=_round_numbers), cells(LOOKS.format(look=look))).points == 4


def test_an_answer_may_refuse_some_changed_numbers_but_not_all(grader):
    """Who looks at one number of some messages lets most changes pass; who raises at every change shows none."""
    ring = replace(RING, cases=_round_numbers)
    some = "assert step >= p - 1 or incoming[:1] % 101 == 0, 'not round'"
    every = "assert (incoming % 101 == 0).all(), 'not round'"
    assert grader.grade(ring, cells(LOOKS.format(look=some))).points == 4
    (message,) = grader.grade(ring, cells(LOOKS.format(look=every))).messages
    assert "with a message changed on the way" in message
    assert "not round" in message


def _scatter_cases(rng):
    for size, length in [(2, 8), (3, 40)]:
        inputs = [whole_numbers(rng, length) for _ in range(size)]
        chunks = torch.tensor_split(sum(inputs), size)
        starts = [sum(len(c) for c in chunks[:r]) for r in range(size)]
        yield Case(size, [(t,) for t in inputs], [Part(starts[r], chunks[r]) for r in range(size)], perturb=1)


def test_only_the_part_that_is_asked_for_is_looked_at(grader):
    one = Exercise("98c", "Reduce-scatter", "ring_sum", 3, _scatter_cases, perturbation="downstream")
    assert grader.grade(one, cells(RIGHT)).points == 3


def test_rules_cost_what_they_say_and_only_once(grader):
    strict = replace(RING, rules=(rules.max_steps(lambda case: 0, "none are allowed", costs=1.5),))
    grade = grader.grade(strict, cells(RIGHT))
    assert grade.points == 2.5
    assert len(grade.messages) == 1


def test_a_grade_starts_only_the_ranks_that_its_cases_ask_for(grader):
    started = []
    spawn = grader.launcher.spawn
    grader.launcher.spawn = lambda *args: started.append(args) or spawn(*args)
    try:
        grader.grade(RING, cells(RIGHT))
    finally:
        del grader.launcher.spawn
    ranks = sum(case.world_size * (1 + case.perturb) for case in RING.cases(np.random.default_rng(0)))
    assert len(started) == 1 + ranks  # and one that reads the cells


def test_the_launcher_replaces_a_zygote_that_died(grader):
    grader.launcher._process.kill()
    grader.launcher._process.wait()
    assert grader.grade(RING, cells(RIGHT)).points == 4


def test_no_rank_outlives_its_trial(grader):
    import psutil

    grader.grade(RING, cells("import time\ndef ring_sum(comm, tensor):\n    comm.rank or 1 / 0\n    time.sleep(60)"))
    deadline = time.monotonic() + 60
    while (left := psutil.Process(grader.launcher._process.pid).children()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert left == []


def test_the_zygote_asks_for_huge_pages(grader):
    import psutil

    assert psutil.Process(grader.launcher._process.pid).environ()["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=1"


def test_a_message_of_another_dtype_is_refused_by_judge_and_check_in_the_same_words(grader):
    source = HEAD + "comm.world_size > 1 and comm.isend(tensor.to(torch.int8), 1 - comm.rank)"
    names = {"torch": torch}
    exec(compile(source, "<code cell 1>", "exec"), names)
    (judged,), (checked,) = (
        grader.grade(RING, cells("import torch\n" + source)).messages,
        check(RING, names["ring_sum"]).findings,
    )
    words = (
        r"rank (0 sent torch\.int8 to rank 1|1 sent torch\.int8 to rank 0); the messages of this exercise are torch\."
    )
    assert re.search(words, judged)
    assert re.search(words, str(checked))
    assert "code cell 1, line 3" in judged


def test_an_exercise_may_have_messages_of_several_dtypes(grader):
    both = RIGHT.replace("there.contiguous()", "there.double()").replace(
        "empty_like(here)", "empty_like(here).double()"
    )
    assert grader.grade(RING, cells(both)).points == 0
    several = replace(RING, dtypes=(torch.float32, torch.float64), rules=())
    assert grader.grade(several, cells(both)).points == 4


def test_a_right_answer_may_call_the_barrier(grader):
    grade = grader.grade(RING, cells(RIGHT.replace("p, r =", "comm.barrier()\n    p, r =") + "    comm.barrier()\n"))
    assert grade.points == 4, grade.messages


def test_the_rules_hold_when_a_message_is_changed_too(grader):
    plain = len(list(RING.cases(np.random.default_rng(0))))
    looks = count()
    last = Rule(lambda case, trace: "too late" if next(looks) >= plain else None, costs=1.5)
    grade = grader.grade(replace(RING, rules=(last,)), cells(RIGHT))
    assert grade.points == 2.5
    assert grade.messages == ["world_size 3, 40 elements: too late"] or grade.messages == [
        "world_size 4, 67 elements: too late"
    ]


def test_a_message_to_the_teacher_has_an_end(grader):
    source = f"def {'f' * 100_000}(): pass"
    grade = grader.grade(RING, cells(source + "\ndef ring_sum(comm, tensor):\n    " + "f" * 100_000 + "(1)"))
    assert all(len(message) <= 2_003 for message in grade.messages)
