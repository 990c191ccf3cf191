"""The ring explorer: attention over a sequence that is cut, while keys and values go round."""

from course_lib.widgets.ring.view import RingExplorer

__all__ = ["RingExplorer"]
