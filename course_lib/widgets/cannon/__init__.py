"""The Cannon explorer: a product of matrices on a square of ranks, whose blocks turn."""

from course_lib.widgets.cannon.view import CannonExplorer

__all__ = ["CannonExplorer"]
