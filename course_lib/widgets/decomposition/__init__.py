"""The decomposition explorer: an image or a function as a tensor, and what SVD, Tucker and tensor trains keep of it."""

from course_lib.widgets.decomposition.view import DecompositionExplorer

__all__ = ["DecompositionExplorer"]
