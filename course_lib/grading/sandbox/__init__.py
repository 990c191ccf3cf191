"""The student's side of grading: everything here runs in processes that the judge does not trust.

It imports torch, numpy, the standard library, and of the course its communicator and network alone: neither a reference
nor an expected result is ever in the memory of these processes. Read in this order: `zygote` (starts ranks), `confine`
and `seccomp` (what a rank may do), `libraries` and `alike` (what it finds of Python), `child` (one rank), `cells` and
`cell_clock` (which lines of a notebook run, and how long), `communicator` (its only way out), `transfers` (what is
under way), `frames`.
"""
