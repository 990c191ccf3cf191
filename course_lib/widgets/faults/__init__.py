"""The faults explorer: what a failure costs, and how often to save, and what one run of it looks like."""

from course_lib.widgets.faults.cut import WAYS, outcomes
from course_lib.widgets.faults.view import FaultsExplorer

__all__ = ["WAYS", "FaultsExplorer", "outcomes"]
