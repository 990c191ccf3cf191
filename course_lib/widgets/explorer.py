"""A function of settings as pictures with controls: live in JupyterLab, the same pictures as an image without a kernel.

    def ring(ranks, message_bytes):          # pure: settings in; sentences, tables and panels out
        ...
    Explorer(ring, ranks=number("ranks", 2, 16, 4), message_bytes=bytes_slider("message", 2**20))

Every control's name is the name of an argument. An error stands where the pictures would be and leaves the controls
working, a text alternative goes with every picture, and a button leads back to where the controls stood at first.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import ipywidgets

from course_lib.draw.panels import Panel, Table
from course_lib.draw.panels.picture import picture_of, picture_of_words
from course_lib.draw.style import Picture, words_below
from course_lib.widgets.controls import Play, others_than, put_back, rule_against, shown_value, state
from course_lib.widgets.html import error_html, error_text, note_html, page_html, part_html, words_html

Part = Panel | Table | str  # a str is a sentence of the caption
_MOVE_IT = "run this cell to move it"
_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class Explorer:
    """Controls at the left; at the right a sentence about the pictures, and the pictures.

    Args:
        pictures: function of the controls' values giving a panel, or a list of sentences, tables and panels.
        controls: widgets by the name of the argument that they set.

    Attributes:
        parts: what is shown now.
        problem: the error in its place, or None.
        reset: the button that puts every control back.
        book_values: the controls that the book moves without a kernel, each with the values that it offers there
            (None: all that the control offers). Where it is empty, all controls move. `states_of` computes such a page.
    """

    book_values: ClassVar[Mapping[str, Sequence[Any] | None]] = MappingProxyType({})

    def __init__(self, pictures: Callable[..., Part | Sequence[Part]], **controls: ipywidgets.Widget) -> None:
        self.controls = controls
        self.parts: list[Part] = []
        self.problem: Exception | None = None
        self._pictures = pictures
        self._holding = False
        self._moved = ""
        self._refused: ValueError | None = None
        self._lock = threading.RLock()  # a kernel may handle the messages of two controls in two threads
        self.words = ipywidgets.HTML()
        self.words.add_class("explorer-wide")
        self.views: list[ipywidgets.HTML] = []
        self.reset = ipywidgets.Button(description="reset", tooltip="every control back to where it stood at first")
        self._right = _box("explorer-pictures", [])
        page = ipywidgets.HTML(page_html(), layout={"display": "none"})
        self.box = ipywidgets.VBox([page, _box("explorer-sides", [self._left(), self._right])])
        self.box.add_class("explorer")
        for control in controls.values():
            control.observe(self._changed, names="value")
        player = getattr(self, "player", [])  # its steps are known once something is drawn
        self._asked = {name: control.value for name, control in controls.items() if control not in player}
        self.refresh()
        self._first = self.where()
        self.reset.on_click(lambda _: self._reset())

    @property
    def values(self) -> dict[str, Any]:
        """The controls' values by name."""
        return {name: control.value for name, control in self.controls.items()}

    def set(self, **values: Any) -> None:
        """Move several controls at once and draw once. What a control cannot say is told where the pictures would be;
        those before it have moved."""
        with self.holding():
            self._asked = values
            for name, value in values.items():
                if rule_against(self.controls, name, value):
                    self.prepare()  # which may offer more, now that others have moved
                if rule := rule_against(self.controls, name, value):
                    self._refused = ValueError(rule)
                    break
                self.controls[name].value = value

    @property
    def in_book(self) -> dict[str, Sequence[Any] | None]:
        """The controls that the book moves, as `book_values` says; all of them where it says nothing."""
        return dict(self.book_values) or dict.fromkeys(self.controls)

    def where(self) -> dict[str, dict[str, Any]]:
        """What brings every control back to where it stands now."""
        return {name: state(control) for name, control in self.controls.items()}

    def put(self, where: Mapping[str, Mapping[str, Any]]) -> None:
        """Bring every control back to where it stood, without drawing."""
        with self.holding(refresh=False):
            for name, state in where.items():
                put_back(self.controls[name], state)
            self.prepare()

    def prepare(self) -> None:
        """Called before drawing: adjust controls that depend on others. Override where there are such."""

    def refresh(self) -> None:
        """Draw what the controls say; what looks as before is not sent again."""
        with self._lock:
            with _without_collecting():
                with self.holding(refresh=False):
                    self.prepare()
                self._show(self._draw())
            _update(self.words, words_html(self.caption, self._moved))

    @property
    def caption(self) -> str:
        """What the pictures show now, in words."""
        return " ".join(part for part in self.parts if isinstance(part, str))

    @property
    def in_words(self) -> str:
        """All that is shown: the caption, then every table and picture in words."""
        return " ".join([self.caption, *(part.words for part in self.parts if not isinstance(part, str))])

    def still(self) -> Picture:
        """The same pictures for pages without a kernel."""
        pictures = [part for part in self.parts if not isinstance(part, str)]
        if not pictures:
            words = error_text(self.problem) if self.problem is not None else self.caption
            return picture_of_words(words, note=_MOVE_IT)
        settings = ", ".join(f"{c.description} {shown_value(c)}" for c in self.controls.values() if not _is_off(c))
        alt = f"{type(self).__name__} with {settings}. {self.in_words}"
        return picture_of(pictures, alt=alt.strip(), note=_MOVE_IT)

    @contextlib.contextmanager
    def holding(self, refresh: bool = True) -> Iterator[None]:
        """Let controls move without drawing; draw once at the end."""
        with self._lock:
            before, self._holding = self._holding, True
            try:
                yield
            finally:
                self._holding = before
            if refresh and not before:
                self.refresh()

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={shown_value(control)}" for name, control in self.controls.items())
        return f"{type(self).__name__}({settings})" + (f"\n{self.caption}" if self.caption else "")

    def bundles(self) -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
        """The outputs of its cell, data and metadata: the still picture, a note with its words, the live explorer.

        JupyterLab shows one kind of data an output, and an error in place of a live explorer whose kernel has gone. So
        the still is an output of its own, which the live one hides while it lives.
        """
        still = self.still()
        data, metadata = still.bundle()
        note = {"text/html": note_html() + words_below(still.alt)}
        # As ipywidgets 8 says it itself; version 7, which Colab has, understands it too.
        live = {_WIDGET_VIEW: {"version_major": 2, "version_minor": 0, "model_id": self.box.model_id}}
        return [({**data, "text/plain": repr(self)}, metadata), (note, {}), (live, {})]

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for data, metadata in self.bundles():
            display(data, metadata=metadata, raw=True)

    def _left(self) -> ipywidgets.Box:
        """The controls, then the buttons that move them."""
        player = getattr(self, "player", [])
        controls = [control for control in self.controls.values() if control not in player]
        return _box("explorer-controls", [*controls, _box("explorer-player", [*player, self.reset])])

    def _draw(self) -> list[str]:
        """The HTML of what the controls say now."""
        refused, others = self._refused, others_than(self._asked, self.controls)
        self._refused, self._asked = None, {}
        try:
            if refused is not None:
                raise refused
            parts, drawn = [*others, *_parts(self._pictures(**self.values))], self._drawn()
            shown = [drawn.get(id(part)) or part_html(part) for part in parts if not isinstance(part, str)]
            self.parts, self.problem = parts, None
        except Exception as error:
            self.parts = []
            self.problem = error
            shown = [error_html(error)]
        return shown

    def _drawn(self) -> dict[int, str]:
        """The HTML of what is shown now: a function that remembers a panel need not have it drawn again."""
        pictures = [part for part in self.parts if not isinstance(part, str)]
        return {id(part): view.value for part, view in zip(pictures, self.views, strict=False)}

    def _show(self, shown: list[str]) -> None:
        while len(self.views) < len(shown):
            self.views.append(ipywidgets.HTML())
        if len(self._right.children) != len(self.views) + 1:
            self._right.children = [self.words, *self.views]
        pictures: list[Any] = [part for part in self.parts if not isinstance(part, str)] or [None]
        for view, part in zip(self.views, pictures, strict=False):
            wide = part is None or isinstance(part, Table) or part.wide
            (view.add_class if wide else view.remove_class)("explorer-wide")
        beside = sum(isinstance(part, Panel) and not part.wide for part in pictures)
        (self._right.add_class if beside == 4 else self._right.remove_class)("explorer-four")
        for number, view in enumerate(self.views):
            used = number < len(shown)
            (view.remove_class if used else view.add_class)("explorer-unused")
            _update(view, shown[number] if used else "")

    def _changed(self, change: Any) -> None:
        with self._lock:
            if not self._holding:
                self._moved = f"{change['owner'].description}: {shown_value(change['owner'])}."
                self.refresh()

    def _reset(self) -> None:
        with self.holding():
            self._moved = "As at first."
            for part in getattr(self, "player", []):
                if isinstance(part, Play):
                    part.end()
            self.put(self._first)


def _parts(given: Part | Sequence[Part]) -> list[Part]:
    """What the function gave, as a list."""
    parts = [given] if isinstance(given, Panel | Table | str) else list(given)
    for part in parts:
        if not isinstance(part, Panel | Table | str):
            raise TypeError(f"an explorer shows sentences, tables and panels, got {type(part).__name__}")
    return parts


@contextlib.contextmanager
def _without_collecting() -> Iterator[None]:
    """Let the garbage collector wait: to walk through all that is imported takes longer than a picture may."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _update(view: ipywidgets.HTML, html: str) -> None:
    if view.value != html:
        view.value = html


def _is_off(control: ipywidgets.Widget) -> bool:
    return bool(getattr(control, "disabled", False))


def _box(name: str, children: list[ipywidgets.Widget]) -> ipywidgets.Box:
    box = ipywidgets.Box(children)
    box.add_class(name)
    return box
