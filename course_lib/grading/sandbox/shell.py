"""IPython's shell as an answer finds it: magics do nothing, and a command prints nothing."""

from __future__ import annotations

from typing import Any

from .stubs import NO_FILES, Nothing


class Printed(list[str]):
    """The lines that a command of the shell printed: none, for it has not run.

    >>> files = Printed()
    >>> len(files), files.s, files.grep("py")
    (0, '', [])
    """

    s = n = ""
    l = p = property(lambda self: self)  # noqa: E741  # IPython's names

    def grep(self, *_: Any, **__: Any) -> Printed:
        """Those lines with a word in them."""
        return self

    fields = grep

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return self
        raise PermissionError(f"this command has printed nothing: {NO_FILES}")


class Shell(Nothing):
    """What `get_ipython` gives."""

    def getoutput(self, *_: Any, **__: Any) -> Printed:
        """For `files = !ls`."""
        return Printed()

    def run_line_magic(self, name: str = "", *_: Any, **__: Any) -> Any:
        """For `here = %pwd`, a text; for others nothing."""
        return "" if name in ("pwd", "env") else Nothing()
