"""The panels of explorers: lines, bars, timelines, matrices, sketches, tables, each drawn the same live and still."""

from course_lib.widgets.panels.axes import Axis, axis
from course_lib.widgets.panels.bars import Bars
from course_lib.widgets.panels.lines import Line, Lines
from course_lib.widgets.panels.matrix import Cell, Matrix
from course_lib.widgets.panels.panel import Panel, Table
from course_lib.widgets.panels.sketch import Sketch
from course_lib.widgets.panels.timeline import Lane, Stretch, Timeline

__all__ = [
    "Axis",
    "Bars",
    "Cell",
    "Lane",
    "Line",
    "Lines",
    "Matrix",
    "Panel",
    "Sketch",
    "Stretch",
    "Table",
    "Timeline",
    "axis",
]
