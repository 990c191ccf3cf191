"""The package's own names."""

import subprocess
import sys

import course_lib
from course_lib import comm


def test_the_package_offers_what_its_ground_floor_offers():
    assert course_lib.__all__ == comm.__all__
    assert all(getattr(course_lib, name) is getattr(comm, name) for name in course_lib.__all__)


def test_the_command_line_answers_before_torch_is_loaded():
    script = "import sys, course_lib.cli; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "False\n"
