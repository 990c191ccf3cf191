"""Explorers: pictures with controls, for pages that answer when they are touched."""

from course_lib.widgets.all_reduce.view import AllReduceExplorer
from course_lib.widgets.controls import bytes_slider, menu, number, rate_slider, scale, seconds_slider
from course_lib.widgets.explorer import Explorer, Panel
from course_lib.widgets.server.view import ServerExplorer
from course_lib.widgets.step.view import StepExplorer

__all__ = [
    "AllReduceExplorer",
    "Explorer",
    "Panel",
    "ServerExplorer",
    "StepExplorer",
    "bytes_slider",
    "menu",
    "number",
    "rate_slider",
    "scale",
    "seconds_slider",
]
