"""Runs when a kernel of this environment starts."""

from course_lib.desk.cells import explain_name_errors

explain_name_errors()
del explain_name_errors
