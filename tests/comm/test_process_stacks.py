"""Where a process is that says nothing."""

import pytest

from course_lib.comm.processes import startup as stacks


@pytest.mark.parametrize(
    ("line", "location"),
    [
        ('  File "/home/me/a.py", line 12 in program', "/home/me/a.py, line 12"),
        ('  File "/x/site-packages/torch/a.py", line 12 in wait', ""),
        (f'  File "{stacks.__file__}", line 12 in wait', ""),
        ("Current thread 0x00007f (most recent call first):", ""),
    ],
)
def test_of_a_stack_only_the_programs_own_lines_count(line, location):
    assert stacks.program_line(line) == location
