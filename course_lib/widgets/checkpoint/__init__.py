"""The checkpoint explorer: a plan played step by step, and every strategy on the frontier of time and memory."""

from course_lib.widgets.checkpoint.view import CheckpointExplorer

__all__ = ["CheckpointExplorer"]
