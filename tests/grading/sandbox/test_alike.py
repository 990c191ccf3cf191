"""Check and judge say the same: what a library can do is there for both, or refused by both in the same words."""

import io
import os
import re
import threading

import pytest
from tqdm import tqdm

from course_lib import simulate
from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.rehearsal.check import check
from course_lib.grading.sandbox.alike import NO_FILES, WAITS, as_under_grading

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
    "more threads of torch": "import torch\ntorch.set_num_threads(2)\nlarge = torch.ones(700, 700)\n"
    "assert (large @ large)[0, 0] == 700",
    "a compiler": "import torch\n@torch.compile\ndef more(x): return x + 1\n@torch.compile(dynamic=True)\n"
    "def less(x): return x - 1\nassert less(more(torch.ones(1))) == 1 == torch.jit.trace(less, torch.ones(1))(2)",
    "a profiler": "import torch\nwith torch.profiler.profile() as told: torch.ones(2)\nprint(told.key_averages())",
    "forward derivatives": "import torch\none = torch.ones(1)\n"
    "assert torch.func.jvp(torch.sin, (0 * one,), (one,))[1] == 1",
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
    "import queue\nqueue.Queue().get()": "this waits for something that would come later",
    "import threading\nthreading.Thread(target=threading.Event().wait).start()": "for something that would come later",
    "import asyncio as a\nl = a.new_event_loop()\ntry: l.run_forever()\nfinally: l.close()": WAITS,
    "from multiprocessing.pool import ThreadPool\nThreadPool(2)": "take concurrent.futures.ThreadPoolExecutor",
    "import networkx\nnetworkx.Graph()": "networkx is not there under grading: an answer has torch, numpy",
    "import torch.onnx": "torch.onnx is not there under grading",
}


def _said(grader, source):
    """The points and the words of judge and check for a function with this body."""
    case = Case(1, [()], [7], label="seven")
    one = Exercise("97a", "Seven", "seven", 1, lambda rng: [case], answer="return", mode="function")
    cell = "def seven():\n" + "".join(f"    {line}\n" for line in source.split("\n")) + "    return 7"
    names = {"__name__": "__main__"}
    exec(cell, names)
    grade, report = grader.grade(one, [("answer", cell)]), check(one, names["seven"])
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
