"""Pictures of single chapters, a module for each; `course_lib.draw` loads one when a page asks for it."""
