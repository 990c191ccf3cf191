"""The storage explorer: machines that read from one storage, and who waits for whom."""

from course_lib.widgets.storage.view import StorageExplorer

__all__ = ["StorageExplorer"]
