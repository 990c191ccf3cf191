"""The mesh explorer: memory and time of a plan for a published model, and the groups of a rank."""

from course_lib.widgets.mesh.view import MeshExplorer

__all__ = ["MeshExplorer"]
