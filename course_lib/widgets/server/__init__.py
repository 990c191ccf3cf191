"""The server explorer: what a policy does to waiting, staleness and loss."""

from course_lib.widgets.server.view import ServerExplorer

__all__ = ["ServerExplorer"]
