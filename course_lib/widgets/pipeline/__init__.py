"""The pipeline explorer: schedules, their bubble and their memory, and a student's own schedule, checked and drawn."""

from course_lib.widgets.pipeline.view import PipelineExplorer

__all__ = ["PipelineExplorer"]
