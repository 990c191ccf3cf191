"""The decomposition explorer: a layer, a photo or a function as a tensor, and what each format keeps of it."""

from course_lib.widgets.decomposition.view import DecompositionExplorer

__all__ = ["DecompositionExplorer"]
