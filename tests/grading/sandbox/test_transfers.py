"""What is under way belongs to its message: refused by the judge and by the check, in the same words."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from grading_example import RIGHT, RING, cells

from course_lib.grading import check
from course_lib.grading.sandbox.communicator import Transfers


def test_memory_that_two_receives_share_is_refused_and_neighbors_in_one_tensor_are_not():
    tensor, transfers = torch.zeros(10), Transfers()
    transfers.receives(1, tensor[:4], "line 1")
    transfers.receives(2, tensor[4:8], "line 2")
    transfers.receives(3, tensor[8:8], "line 3")
    with pytest.raises(RuntimeError, match=r"two messages may be arriving in the same memory: .*line 4.*\(line 2\)"):
        transfers.receives(4, tensor[7:], "line 4")
    transfers.waited(2)
    transfers.receives(4, tensor[7:], "line 4")


def test_a_receive_that_has_been_waited_for_frees_its_memory_and_so_does_a_send():
    tensor, transfers = torch.zeros(4), Transfers()
    for number in range(3):
        transfers.receives(2 * number, tensor, "")
        transfers.waited(2 * number)
        transfers.sends(2 * number + 1, tensor, "")
        transfers.waited(2 * number + 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e5m2])
def test_until_its_wait_a_buffer_holds_no_numbers(dtype):
    tensor, transfers = torch.ones(3, dtype=dtype), Transfers()
    transfers.receives(1, tensor, "")
    assert tensor.float().isnan().all()


def test_an_empty_numpy_chunk_is_a_message_like_any_other():
    chunk, transfers = torch.from_numpy(np.array_split(np.ones(2, dtype=np.float32), 3)[2]), Transfers()
    transfers.sends(1, chunk, "")
    transfers.receives(2, chunk, "")
    transfers.waited(1)
    transfers.waited(2)
    transfers.ended()


HEAD = "import torch\ndef ring_sum(comm, tensor):\n    p, r = comm.world_size, comm.rank\n"
SWAP = "    if p == 1:\n        return\n    right, left = (r + 1) % p, (r - 1) % p\n"
SHARED_BUFFER = """    buffer = torch.empty_like(tensor)
    others = [rank for rank in range(p) if rank != r]
    receives = [comm.irecv(buffer, rank) for rank in others]
    sends = [comm.isend(tensor.clone(), rank) for rank in others]
    for work in receives:
        work.wait()
        tensor += buffer
    for work in sends:
        work.wait()
"""
READ_TOO_EARLY = """    buffer = torch.zeros_like(tensor)
    sent, received = comm.isend(tensor.clone(), right), comm.irecv(buffer, left)
    tensor += buffer
    received.wait()
    sent.wait()
"""
NEVER_WAITED = """    buffer = torch.zeros_like(tensor)
    received = comm.irecv(buffer, left)
    comm.send(tensor.clone(), right)
    tensor += buffer
"""
WRITTEN_TOO_EARLY = """    buffer = torch.empty_like(tensor)
    received = comm.irecv(buffer, left)
    buffer.zero_()
    comm.send(tensor, right)
    received.wait()
    tensor += buffer
"""
SENT_WHILE_ARRIVING = """    received = comm.irecv(tensor, left)
    comm.send(tensor, right)
    received.wait()
"""
RECEIVED_WHILE_LEAVING = """    sent = comm.isend(tensor, right)
    comm.recv(tensor, left)
    sent.wait()
"""
WRONG = {
    HEAD + SHARED_BUFFER: "two messages may be arriving in the same memory",
    HEAD + SWAP + READ_TOO_EARLY: "nan is what a buffer holds until its irecv has been waited for",
    HEAD + SWAP + NEVER_WAITED: "nan is what a buffer holds until its irecv has been waited for",
    HEAD + SWAP + WRITTEN_TOO_EARLY: "changed while a message was arriving in it: wait() for its irecv first",
    HEAD + SWAP + SENT_WHILE_ARRIVING: "in which a message may still be arriving",
    HEAD + SWAP + RECEIVED_WHILE_LEAVING: "that may still be leaving",
}


@pytest.mark.parametrize("source", WRONG)
def test_what_is_luck_on_real_processes_is_refused_by_judge_and_check(grader, source):
    names = {}
    exec(compile(source, "<code cell 1>", "exec"), names)
    judged, checked = grader.grade(RING, cells(source)), check(RING, names["ring_sum"])
    assert (judged.points, checked.points) == (0, 0)
    assert WRONG[source] in judged.messages[0]
    assert WRONG[source] in str(checked.findings[0])


def test_a_started_function_and_a_group_are_watched_too(grader):
    group = HEAD + SHARED_BUFFER.replace("comm.", "team.").replace(
        "    buffer", "    team = comm.group(range(p))\n    buffer", 1
    )
    started = HEAD.replace("ring_sum", "inner") + SHARED_BUFFER
    started += "def ring_sum(comm, tensor):\n    comm.start(inner, tensor).wait()\n"
    for source in (group, started):
        names = {}
        exec(compile(source, "<code cell 1>", "exec"), names)
        for message in (grader.grade(RING, cells(source)).messages[0], str(check(RING, names["ring_sum"]).findings[0])):
            assert "two messages may be arriving in the same memory" in message


@pytest.mark.parametrize("lazy", ["(work.wait() for work in works)", "map(lambda work: work.wait(), works)"])
def test_what_an_answer_in_place_leaves_to_run_does_not_run(grader, lazy):
    shared = SHARED_BUFFER.split("    receives")[0].replace("empty_like(tensor)", "empty(p, len(tensor))")
    source = HEAD + shared + "    works = [comm.irecv(buffer[rank], rank) for rank in others]\n"
    source += "    works += [comm.isend(tensor.clone(), rank) for rank in others]\n"
    names = {}
    exec(waits := source + f"    list({lazy})\n    tensor += buffer[others].sum(0)", names)
    anyhow = replace(RING, rules=())
    assert grader.grade(anyhow, cells(waits)).messages == check(anyhow, names["ring_sum"]).findings == []
    exec(leaves := source + f"    tensor += buffer[others].sum(0)\n    return {lazy}", names)
    for message in (grader.grade(anyhow, cells(leaves)).messages[0], str(check(anyhow, names["ring_sum"]).findings[0])):
        assert "of which nothing has run" in message if lazy[0] == "(" else "nan is what a buffer holds" in message


def test_a_right_answer_may_use_a_group(grader):
    source = RIGHT.replace(
        "def ring_sum(comm, tensor):", "def ring_sum(comm, tensor):\n    comm = comm.group(range(comm.world_size))"
    )
    names = {}
    exec(source, names)
    grade = grader.grade(RING, cells(source))
    assert (grade.points, grade.messages) == (4, [])
    assert check(RING, names["ring_sum"]).points == 4
