"""Panels: lines, bars, timelines, matrices, sketches, tables, drawn the same on pages and in explorers."""

from course_lib.draw.panels.bars import Bars
from course_lib.draw.panels.lines import Line, Lines
from course_lib.draw.panels.matrix import Cell, Matrix
from course_lib.draw.panels.panel import Panel, PanelAxis, Sketch, Table, axis
from course_lib.draw.panels.timeline import Events, Lane, Stretch, Timeline
