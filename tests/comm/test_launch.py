"""The processes of one run."""

import pytest

from course_lib.comm.processes import launch


@pytest.mark.parametrize(
    ("line", "location"),
    [
        ('  File "/home/me/a.py", line 12 in program', "/home/me/a.py, line 12"),
        ('  File "/x/site-packages/torch/a.py", line 12 in wait', ""),
        (f'  File "{launch.__file__}", line 12 in wait', ""),
        ("Current thread 0x00007f (most recent call first):", ""),
    ],
)
def test_of_a_stack_only_the_programs_own_lines_count(line, location):
    assert launch._program_line(line) == location
