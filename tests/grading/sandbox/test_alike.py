"""Check and judge say the same: what a library can do is there for both, or refused by both in the same words."""

import asyncio
import io
import os
import re
import threading
from itertools import permutations

import pytest
import torch
from tqdm import tqdm

from course_lib import simulate
from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.rehearsal.check import check
from course_lib.grading.sandbox.alike import NO_FILES, NO_INPUT, WAITS, _replaced, as_under_grading
from course_lib.grading.sandbox.tensors import NO_NUMBERS

ALLOWED = {
    "a pool": "from concurrent.futures import ThreadPoolExecutor as Pool\nwith Pool(3) as pool:\n"
    "    assert list(pool.map(abs, [-1, 2])) == [1, 2] and pool.submit(lambda: 1 / 0).exception()",
    "a thread": "import threading\ndone = []\nthread = threading.Thread(target=done.append, args=(1,))\n"
    "thread.start()\nthread.join()\nassert done == [1] and not thread.is_alive()",
    "a lock, an event, a queue": "import queue, threading\nq, e = queue.Queue(), threading.Event()\n"
    "threading.Thread(target=lambda: (q.put(3), e.set())).start()\nwith threading.Lock():\n    e.wait()\n"
    "assert q.get() == 3 and not threading.Event().wait(0.01)",
    "asyncio": "import asyncio\nasync def twice(n):\n    await asyncio.sleep(0.001)\n    return 2 * n\n"
    "async def all(): return await asyncio.gather(twice(1), asyncio.to_thread(abs, -2))\n"
    "loop = asyncio.new_event_loop()\nassert loop.run_until_complete(all()) == [2, 2]\nloop.close()",
    "asyncio.run": "import asyncio\nasync def seven(): return 7\nassert asyncio.run(seven()) == 7",
    "the thread's loop": "import asyncio\nasync def seven(): return 7\nfirst = asyncio.get_event_loop()\n"
    "task = first.create_task(seven())\nassert asyncio.get_event_loop().run_until_complete(task) == 7\nfirst.close()\n"
    "asyncio.set_event_loop(asyncio.new_event_loop())\n"
    "assert asyncio.get_event_loop().run_until_complete(seven()) == 7\nasyncio.get_event_loop().close()",
    "more threads of torch": "import torch\ntorch.set_num_threads(2)\nlarge = torch.ones(700, 700)\n"
    "assert (large @ large)[0, 0] == 700",
    "a compiler": "import torch\n@torch.compile\ndef more(x): return x + 1\n@torch.compile(dynamic=True)\n"
    "def less(x): return x - 1\nassert less(more(torch.ones(1))) == 1 == torch.jit.trace(less, torch.ones(1))(2)\n"
    "assert torch.jit.script(less)(torch.ones(1)) == 0",
    "a profiler": "import torch\nwith torch.profiler.profile() as told: torch.ones(2)\nprint(told.key_averages())",
    "forward derivatives": "import torch\none = torch.ones(1)\n"
    "assert torch.func.jvp(torch.sin, (0 * one,), (one,))[1] == 1",
    "second derivatives": "import torch\nones = torch.ones(2)\n"
    "for f in (lambda x: (x**3).sum() / 6, lambda x: torch.exp(x).prod(), lambda x: torch.relu(x).norm()):\n"
    "    assert torch.func.hessian(f)(ones).allclose(torch.autograd.functional.hessian(f, ones))\n"
    "    torch.func.jacrev(torch.func.jacfwd(f))(ones)\n"
    "assert torch.func.functionalize(lambda x: x.clone().add_(1))(ones).sum() == 4",
    "a linear function": "import torch\nat, sloped = torch.func.linearize(lambda x: {'a': x @ x}, torch.ones(3))\n"
    "assert at['a'] == 3 and sloped(torch.arange(3.0))['a'] == 6",
    "counted flops": "import torch\nfrom torch.utils.flop_counter import FlopCounterMode\nones = torch.ones(2, 3)\n"
    "with FlopCounterMode() as shown, FlopCounterMode(display=False) as told: ones @ ones.T\n"
    "assert shown.get_total_flops() == told.get_total_flops() == 24",
    "what only shows": "import matplotlib.pyplot as plt\nfrom IPython.display import display\ndisplay('seven')\n"
    "figure, ((left, right), *_) = plt.subplots(1), ((None, None),)\n_, axes = plt.subplots(1, 2)\n"
    "first, second = axes\nfirst.plot([1]), second.plot([2]), plt.close('all')",
    "bytes in memory": "import io, torch\nb = io.BytesIO()\ntorch.save({'a': torch.ones(1)}, b)\nb.seek(0)\n"
    "assert torch.load(b)['a'] == 1",
    "pickle": "import pickle\nassert pickle.loads(pickle.dumps([1])) == [1]",
    "the standard library": "import bz2, colorsys, csv, doctest, getpass, html.parser, lzma, shelve, sqlite3\n"
    "import stringprep, xml.etree.ElementTree, zoneinfo, json.tool, logging.handlers, unittest.mock\n"
    "assert sqlite3.connect(':memory:').execute('select 7').fetchall() == [(7,)]",
    "parts of libraries": "import numpy.typing, numpy.ctypeslib, torch.utils.benchmark, torch.utils.data",
}
REFUSED = {
    "import tempfile\ntempfile.TemporaryFile()": NO_FILES,
    "import tempfile\ntempfile.mkdtemp()": NO_FILES,
    "open('/etc/passwd')": NO_FILES,
    "import pathlib\npathlib.Path('x').write_text('y')": NO_FILES,
    "import os\nos.listdir('/')": NO_FILES,
    "import os\nos.getcwd()": NO_FILES,
    "import subprocess\nsubprocess.run(['ls'])": NO_FILES,
    "import socket\nsocket.socket()": NO_FILES,
    "import torch\ntorch.save({}, 'x.pt')": NO_FILES,
    "import torch\ntorch.load('x.pt')": NO_FILES,
    "import multiprocessing\nmultiprocessing.Process(target=print).start()": NO_FILES,
    "input('how many? ')": NO_INPUT,
    "import asyncio as a\nasync def one(): return a.run(two)\ntwo = a.sleep(0)\ntry: a.run(one())\n"
    "finally: two.close()": "asyncio.run() cannot be called from a running event loop",
    "import queue\nqueue.Queue().get()": "this waits for something that would come later",
    "import threading\nthreading.Thread(target=threading.Event().wait).start()": "for something that would come later",
    "import asyncio as a\nl = a.new_event_loop()\ntry: l.run_forever()\nfinally: l.close()": WAITS,
    "from multiprocessing.pool import ThreadPool\nThreadPool(2)": "take concurrent.futures.ThreadPoolExecutor",
    "import networkx\nnetworkx.Graph()": "networkx is not there under grading: an answer has torch, numpy",
    "import torch.onnx": "torch.onnx is not there under grading",
}


REPLACED = [(owner, name) for owner, name, _ in _replaced()]


def _said(grader, source, expected=7, **fields):
    """The points and the words of judge and check for a function of this body, called while a notebook's loop runs."""
    fields = {"mode": "function", "answer": "return", **fields}
    size = 3 if fields["mode"] == "ranks" else 1
    case = Case(size, [()] * size, [expected] * size, label="seven")
    one = Exercise("97a", "Seven", "seven", 1, lambda rng: [case], **fields)
    head, _, body = source.rpartition("# %%\n")
    cell = f"{head}def seven(*_):\n" + "".join(f"    {line}\n" for line in body.split("\n")) + "    return 7"

    async def checked():
        return check(one, names["seven"])

    names = {"__name__": "__main__"}
    exec(cell, names)
    grade, report = grader.grade(one, [("answer", cell)]), asyncio.run(checked())
    return (grade.points, " ".join(grade.messages)), (report.points, " ".join(map(str, report.findings)))


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("name", ALLOWED)
def test_what_one_process_can_do_alone_is_there_for_both(grader, name):
    assert _said(grader, ALLOWED[name]) == ((1, ""), (1, ""))


@pytest.mark.parametrize("source", REFUSED)
def test_what_a_rank_cannot_do_is_refused_by_both_in_the_same_words(grader, source):
    judged, checked = _said(grader, source)
    assert judged[0] == checked[0] == 0
    assert REFUSED[source] in judged[1]
    assert REFUSED[source] in checked[1]
    words = [
        re.sub(r" \((code cell|<string>).*|.*No module named \S+: |seven: ", "", text) for _, text in (judged, checked)
    ]
    assert words[0] == words[1]


@pytest.mark.parametrize("mode", ["function", "ranks"])
@pytest.mark.parametrize(
    "counts",
    [
        "class Count:\n    calls = 0",
        "from enum import Enum\nclass Count(Enum):\n    ONE = 1\nCount.calls = 0",
        "class Base:\n    calls = 0\nclass Count(Base):\n    pass",
        "class Base:\n    known = {}\n    def __init_subclass__(cls): Base.known[cls.__name__] = cls\n"
        "class Of(Base):\n    calls = 0\nCount = Base.known['Of']",
    ],
)
def test_each_rank_has_classes_of_its_own(grader, mode, counts):
    source = f"{counts}\n# %%\nfor comm in _: comm.barrier()\nCount.calls += 1\nassert Count.calls == 1"
    assert _said(grader, source, mode=mode) == ((1, ""), (1, ""))


IN_ORDER = [
    "deque([2, 7])",
    "array('d', [2, 7])",
    "{'a': 2, 'b': 7}.values()",
    "{2: 0, 7: 0}.keys()",
    "UserList([2, 7])",
    "map(int, ['2', '7'])",
    "filter(None, [2, 0, 7])",
    "reversed([7, 2])",
    "iter((2, 7))",
    "accumulate([2, 5])",
    "(number for number in (2, 7))",
]
OF_TENSORS = ["torch.tensor([2, 7]).to_sparse()", "[np.array([2]), torch.tensor([[7.0]])]"]


@pytest.mark.parametrize("mode", ["function", "ranks"])
@pytest.mark.parametrize("value", [*IN_ORDER, *OF_TENSORS])
def test_what_has_an_order_is_a_list_and_one_element_is_a_number(grader, mode, value):
    head = "import torch, numpy as np\nfrom array import array\nfrom collections import UserList, deque"
    head += "\nfrom itertools import accumulate"
    source = f"{head}\n# %%\nreturn {value}"
    assert _said(grader, source, [2, 7], mode=mode) == ((1, ""), (1, ""))
    if value.startswith("["):
        return
    assert _said(grader, source, torch.tensor([2.0, 7.0]), mode=mode) == ((1, ""), (1, ""))
    assert [points for points, _ in _said(grader, source, [7, 2], mode=mode)] == [0, 0]


@pytest.mark.parametrize(
    "value",
    [
        "zip('F1', 'B2', '03')",
        "(map(str, row) for row in ('FB0', '123'))",
        "[(letter for letter in 'FB0'), UserList(['1', UserString('2'), '3'])]",
        "{0: iter('FB0'), 1: reversed('321')}.values()",
    ],
)
def test_what_gives_one_value_after_the_other_is_read_to_its_end(grader, value):
    source = f"from collections import UserList, UserString\n# %%\nreturn {value}"
    assert _said(grader, source, [["F", "B", "0"], ["1", "2", "3"]]) == ((1, ""), (1, ""))


def test_a_function_with_a_yield_is_worth_its_values_and_runs_nothing_on_ranks(grader):
    source = "def steps():\n    yield 2\n    yield 7\n# %%\nyield from steps()"
    assert _said(grader, source, [2, 7]) == ((1, ""), (1, ""))
    for points, words in _said(grader, source, [2, 7], mode="ranks"):
        assert points == 0
        assert "the function has a yield in it, so that calling it runs nothing of it: use return" in words


@pytest.mark.parametrize("mode", ["function", "ranks"])
def test_what_has_no_order_or_no_end_is_refused_by_both_in_the_same_words(grader, mode):
    for value in ("{2, 7}", "frozenset([2, 7])"):
        for points, words in _said(grader, f"return {value}", [2, 7], mode=mode):
            assert points == 0
            assert "(which has no order: sorted(...) makes a list of it) where 2 values are right" in words
    for points, words in _said(grader, "import itertools\nreturn itertools.count()", [2, 7], mode=mode):
        assert points == 0
        assert "it gave a count of more than 10000 values: has it an end?" in words


def test_a_list_without_rows_has_any_width_and_one_with_rows_its_own(grader):
    assert _said(grader, "return []", torch.zeros(0, 5)) == ((1, ""), (1, ""))
    for value in ("[[]]", "[[1.0]]", "[1.0]"):
        assert [points for points, _ in _said(grader, f"return {value}", torch.zeros(0, 5))] == [0, 0]


@pytest.mark.parametrize("mode", ["function", "ranks"])
@pytest.mark.parametrize("value", ["torch.zeros(2, device='meta')", "[1, torch.zeros(2, device='meta')]"])
def test_a_tensor_without_numbers_is_named_by_both(grader, mode, value):
    for points, words in _said(grader, f"import torch\nreturn {value}", mode=mode):
        assert points == 0
        assert f"raised TypeError: {NO_NUMBERS}" in words


def test_what_torch_cannot_do_is_no_answer_that_nobody_has_written(grader):
    for _, words in _said(grader, "import torch\nreturn torch.zeros(2, device='meta').tolist()"):
        assert "raised NotImplementedError: Cannot copy out of meta tensor" in words
    for _, words in _said(grader, "raise NotImplementedError"):
        assert words.startswith("not attempted yet")


def test_only_calls_that_it_is_meant_for_are_replaced_and_only_meanwhile():
    before = threading.Thread.start, open, os.open
    with as_under_grading(lambda file: False):
        with open(os.devnull) as file:
            assert file.read() == ""
        thread = threading.Thread(target=lambda: seen.append(threading.current_thread()))
        seen = []
        thread.start()
        thread.join()
        assert seen == [thread]
    assert before == (threading.Thread.start, open, os.open)


@pytest.mark.parametrize("leaving", list(permutations(range(3))))
def test_several_may_be_open_at_once_and_leave_in_any_order(leaving):
    before = {place: getattr(*place) for place in REPLACED}
    opened = [as_under_grading(lambda file: file == __file__) for _ in leaving]
    for each in opened:
        each.__enter__()
    for number in leaving:
        with pytest.raises(RuntimeError, match=re.escape(NO_INPUT)):
            input()
        opened[number].__exit__(None, None, None)
    assert before == {place: getattr(*place) for place in REPLACED}


def test_what_a_library_starts_for_a_program_is_its_own():
    """A progress bar has a thread that never ends, and an import reads files."""
    with as_under_grading(lambda file: file == __file__):
        with pytest.raises(PermissionError):
            os.listdir(os.curdir)
        for _ in tqdm([1], mininterval=0, file=io.StringIO()):
            import colorsys  # noqa: F401


def test_ranks_are_threads_as_ever_while_a_program_has_none():
    def program(comm):
        with as_under_grading(lambda file: False):
            comm.barrier()
        return comm.rank

    assert simulate(program, 3).results == [0, 1, 2]
