"""The tensor explorer: a GPT whose layers are cut over GPUs, what each must hold, and what that costs."""

from course_lib.widgets.tensor.view import TensorExplorer

__all__ = ["TensorExplorer"]
