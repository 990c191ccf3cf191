"""The step explorer: what a data-parallel step spends its time on."""

from course_lib.widgets.step.view import StepExplorer

__all__ = ["StepExplorer"]
