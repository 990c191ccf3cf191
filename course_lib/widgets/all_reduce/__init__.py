"""The all-reduce explorer: an algorithm and a network, taken apart."""

from course_lib.widgets.all_reduce.view import AllReduceExplorer

__all__ = ["AllReduceExplorer"]
