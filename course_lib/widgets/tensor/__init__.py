"""The tensor explorer: tensor and data parallelism of a GPT, beside Megatron's published points."""

from course_lib.widgets.tensor.view import TensorExplorer

__all__ = ["TensorExplorer"]
