"""The scaling explorer: speed-up and efficiency of a workload on more and more GPUs, and where it ends."""

from course_lib.widgets.scaling.view import ScalingExplorer

__all__ = ["ScalingExplorer"]
