"""The split explorer: AlexNet on some ranks, a cut for each layer, and what a rank sends for it."""

from course_lib.widgets.split.view import SplitExplorer

__all__ = ["SplitExplorer"]
