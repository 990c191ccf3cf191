"""What ranks print, line by line."""

import io
import os
import sys
from multiprocessing import Pipe

import pytest

from course_lib.comm.processes.pipes import OutputReader


@pytest.fixture
def pipe():
    """(what the rank's end writes, the output)."""
    ours, theirs = Pipe(duplex=False)
    output = OutputReader(ours, "rank 0")
    yield theirs, output
    theirs.close()
    output.close()


def test_only_whole_lines_are_shown_and_the_rest_at_the_end(pipe, capsys):
    theirs, output = pipe
    for text, shown in {b"a\nb": "[rank 0] a\n", b"c\n\n": "[rank 0] bc\n[rank 0] \n", b"d": ""}.items():
        os.write(theirs.fileno(), text)
        assert output.show()
        assert capsys.readouterr().out == shown
    theirs.close()
    assert not output.show()
    assert capsys.readouterr().out == "[rank 0] d\n"


def test_a_long_line_is_put_together_once(pipe, capsys):
    theirs, output = pipe
    for number in range(100):
        os.write(theirs.fileno(), b"%02d" % number * 1000)
        output.show()
        assert [len(piece) for piece in output._begun] == [2000] * (number + 1)
    os.write(theirs.fileno(), b"\n")
    output.show()
    assert capsys.readouterr().out == "[rank 0] " + "".join(f"{number:02d}" * 1000 for number in range(100)) + "\n"


def test_letters_that_the_screen_does_not_have_are_spelled_out(pipe, monkeypatch):
    theirs, output = pipe
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", screen)
    os.write(theirs.fileno(), "größer\n".encode())
    output.show()
    assert screen.buffer.getvalue() == b"[rank 0] gr\\xf6\\xdfer\n"


def test_nobody_needs_to_read_it(pipe, monkeypatch):
    theirs, output = pipe
    reader, writer = os.pipe()
    os.close(reader)
    screen = os.fdopen(writer, "w", buffering=1)
    monkeypatch.setattr(sys, "stdout", screen)
    os.write(theirs.fileno(), b"unheard\n")
    assert output.show()
    with pytest.raises(BrokenPipeError):  # by hand: Python 3.13 reports it where the collector closes it
        screen.close()
