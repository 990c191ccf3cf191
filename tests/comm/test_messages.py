"""Messages in columns, one at a time when they are asked for."""

import pickle

import pytest
import torch

from course_lib import Message, simulate
from course_lib.comm.trace import Messages

SOME = [
    Message(n % 3, (n + 1) % 3, 2**40 + n, n / 7, n / 3, step=n, start_s=n / 2, end_s=n / 2 + 0.1) for n in range(5)
]


def test_a_message_comes_out_as_it_went_in():
    messages = Messages.of(SOME)
    assert list(messages) == SOME
    assert [messages[0], messages[-1]] == [SOME[0], SOME[-1]]
    assert messages[1:3] == SOME[1:3]
    kinds = {type(getattr(messages[2], name)) for name in Message.__slots__}
    assert kinds == {int, float}  # Python's own, not numpy's
    with pytest.raises(IndexError):
        messages[5]


def test_messages_are_equal_to_others_and_to_a_list_of_the_same():
    assert Messages.of(SOME) == Messages.of(SOME) == SOME
    assert Messages.of(SOME) != Messages.of(SOME[:4])
    assert Messages.of(SOME) != SOME[:4]
    assert len(Messages()) == 0
    assert Messages() == []


def test_messages_survive_being_pickled():
    assert pickle.loads(pickle.dumps(Messages.of(SOME))) == SOME


def test_a_message_takes_56_bytes_of_a_trace_and_a_wait_24():
    def program(comm):
        for _ in range(10):
            comm.send(torch.empty(1), 1) if comm.rank == 0 else comm.recv(torch.empty(1), 0)

    trace = simulate(program, 2).trace
    assert trace.messages.column("src").base.nbytes == 10 * 56
    assert len(trace._waits.rows) == 24 * len(trace.waits) > 0


def test_more_messages_than_are_unpacked_at_once_come_in_order():
    many = Messages(b"".join(Messages.of(SOME)._table.tobytes() for _ in range(20_000)))
    assert [message.step for message in many] == list(range(5)) * 20_000
