"""The faults explorer: how often to save when machines fail, and what one run of it looks like."""

from course_lib.widgets.faults.view import FaultsExplorer

__all__ = ["FaultsExplorer"]
