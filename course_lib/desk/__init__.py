"""A student's desk: a folder with the chapters without outputs, the exercises, the glossary, symptoms and a start page.

- `lay(desk)` makes one or brings it up to date (`update`); nothing of the student's is ever overwritten;
- `versions` says what of a notebook is its author's, and so what somebody has changed;
- `outline()` is the chapters with their time, what each needs, and their exercises, all read off the pages;
- `points` keeps what `check` gives; `start` makes a page of outline, points and the next step.

What the desk knows stands in its hidden folder `.desk`: `manifest.json`, `points.json`, JupyterLab's
layout, a lock.
"""

from course_lib.desk.contents import ChapterOutline, ExerciseOutline, outline
from course_lib.desk.files import DeskError
from course_lib.desk.points import KeptPoints, desk_around, keep, kept_points
from course_lib.desk.start import START, next_step, write_start_page
from course_lib.desk.update import lay
