"""The precision explorer: the bits of a number, and what becomes of gradients in a format when the loss is scaled."""

from course_lib.widgets.precision.view import PrecisionExplorer

__all__ = ["PrecisionExplorer"]
