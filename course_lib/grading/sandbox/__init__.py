"""The student's side of grading: everything here runs in processes that the judge does not trust.

It imports torch, numpy, the standard library, and of the course its communicator and network alone: neither a reference
nor an expected result is ever in the memory of these processes. Read in this order: `zygote` (starts ranks), `confine`
and `seccomp` (what a rank may do), `stubs` and `alike` (what it finds of Python and of the course), `child` (one rank),
`cells` (which lines of a notebook run, and how long), `magics` (IPython's syntax), `communicator` (its only way out,
and what is under way), `frames` and `tensors` (what travels). This package imports nothing when it is imported itself,
because ranks load it without the course. Others use it through `course_lib.grading.judge`.
"""
