"""What a process says, taken piece by piece."""

import os
import struct
import threading
from multiprocessing import Pipe
from multiprocessing.connection import wait

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.comm.processes.pipes import PipeReader


def framed(message: bytes, long: bool = False) -> bytes:
    """A message as `Connection` writes it; `long` as one of more than two gigabytes."""
    return (struct.pack("!iQ", -1, len(message)) if long else struct.pack("!i", len(message))) + message


@given(
    st.lists(st.tuples(st.binary(max_size=300), st.booleans()), max_size=8), st.lists(st.integers(1, 40), max_size=60)
)
def test_messages_come_whole_and_in_order_wherever_their_bytes_are_cut(messages, lengths):
    stream, ends = b"", []
    for message, long in messages:
        stream += framed(message, long)
        ends.append(len(stream))
    link, theirs = Pipe()
    inbox, sent, found = PipeReader(link), 0, []
    for length in [*lengths, len(stream)]:
        piece = stream[sent : sent + length]
        os.write(theirs.fileno(), piece)
        sent += len(piece)
        if piece:
            found += inbox.take()
        assert len(found) == sum(end <= sent for end in ends)
    assert found == [message for message, _ in messages]
    theirs.close()
    with pytest.raises(EOFError):
        inbox.take()
    inbox.close()


def test_large_messages_of_a_real_connection_arrive():
    link, theirs = Pipe()
    said = [os.urandom(5_000_000), b"", b"small", os.urandom(20_000)]
    thread = threading.Thread(target=lambda: [theirs.send_bytes(message) for message in said])
    thread.start()
    inbox, found = PipeReader(link), []
    while len(found) < len(said):
        assert wait([inbox], 60) == [inbox]
        found += inbox.take()
    thread.join()
    assert found == said


def test_the_last_words_are_those_that_are_whole():
    link, theirs = Pipe()
    os.write(theirs.fileno(), framed(b"one") + framed(b"two") + framed(b"cut")[:-1])
    inbox = PipeReader(link)
    assert inbox.take_the_last() == [b"one", b"two"]  # though the other end is still open, as in a copy of its process
    theirs.close()
    assert inbox.take_the_last() == []
