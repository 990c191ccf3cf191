"""The split explorer: what cutting a layer moves, and where data and model parallelism change places."""

from course_lib.widgets.split.view import SplitExplorer

__all__ = ["SplitExplorer"]
