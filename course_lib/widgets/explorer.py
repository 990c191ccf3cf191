"""A picture with controls: live in JupyterLab, the same picture as an image wherever there is no kernel.

    def draw(ranks, message_bytes):          # pure: values in, a Picture (or HTML) out
        ...
    Explorer(draw, ranks=number("ranks", 2, 16, 4), message_bytes=bytes_slider("message", 2**20))

Every control's name is the name of an argument. Only what depends on a moved control is drawn again, an error stands
where the picture would be and leaves the controls working, a text alternative goes with every picture, and a button
leads back to where the controls stood at first.
"""

from __future__ import annotations

import base64
import contextlib
import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import ipywidgets
from matplotlib.figure import Figure

from course_lib.draw.style import Picture, alt_text, finish, new_picture
from course_lib.widgets.html import STYLE, error_html, error_text, figure_html, image_html, words_html

__all__ = ["Explorer", "Panel", "on_setting"]


class Panel(NamedTuple):
    """One picture of an explorer, the names of the controls it depends on (None: all of them), its title and origin."""

    draw: Callable[..., Any]
    needs: tuple[str, ...] | None = None
    title: str = ""
    origin: str = ""

    def values(self, values: dict[str, Any]) -> dict[str, Any]:
        """Those of the controls' values that it needs."""
        return values if self.needs is None else {need: values[need] for need in self.needs}


class Explorer:
    """Controls above, pictures below, a sentence about them between.

    Args:
        picture: function of the controls' values giving a Picture or HTML; or name -> Panel for several of them.
        caption: function of the controls' values giving a sentence; it is read out when it changes.
        still: function of the controls' values giving the Picture for pages without a kernel; needed only where
            `picture` gives HTML.
        controls: widgets by the name of the argument that they set.

    Attributes:
        drawn: how often each panel was drawn, by name.
        reset: the button that puts every control back.
    """

    above: tuple[str, ...] = ()  # panels between the controls and the caption
    wide: tuple[str, ...] = ()  # panels as wide as the page

    def __init__(
        self,
        picture: Callable[..., Any] | Mapping[str, Panel],
        *,
        caption: Callable[..., str] | None = None,
        still: Callable[..., Picture] | None = None,
        **controls: ipywidgets.Widget,
    ) -> None:
        self.panels = dict(picture) if isinstance(picture, Mapping) else {"picture": Panel(picture)}
        self.controls = controls
        self.drawn: Counter[str] = Counter()
        self._caption, self._still, self._holding, self._moved = caption, still, False, ""
        self._drawn_for: dict[str, tuple] = {}
        self._rendered: dict[str, str] = {}
        self._errors: dict[str, str] = {}
        self.views = {name: ipywidgets.HTML() for name in self.panels}
        self.words = ipywidgets.HTML()
        self.reset = ipywidgets.Button(description="reset", tooltip="every control back to where it stood at first")
        self.box = ipywidgets.VBox([ipywidgets.HTML(STYLE, layout={"display": "none"}), *self.layout()])
        self.box.add_class("explorer")
        for control in controls.values():
            control.observe(self._changed, names="value")
        if not gc.get_freeze_count():  # to walk through all that is imported takes longer than a picture may
            gc.freeze()
        self.refresh()
        self._first = {name: _state(control) for name, control in controls.items()}
        self.reset.on_click(lambda _: self._reset())

    @property
    def values(self) -> dict[str, Any]:
        """The controls' values by name."""
        return {name: control.value for name, control in self.controls.items()}

    def set(self, **values: Any) -> None:
        """Move several controls at once and draw once."""
        with self.holding():
            for name, value in values.items():
                self.controls[name].value = value

    def layout(self) -> list[ipywidgets.Widget]:
        """What stands below one another: controls, buttons, panels above the caption, the caption, pictures."""
        for name in self.wide:
            self.views[name].add_class("explorer-wide")
        player = getattr(self, "player", [])
        controls = [control for control in self.controls.values() if control not in player]
        above = [self.views[name] for name in self.above]
        pictures = [view for name, view in self.views.items() if name not in self.above]
        row = _box("explorer-player", [*player, self.reset])
        return [_box("explorer-controls", controls), row, *above, self.words, _box("explorer-pictures", pictures)]

    def prepare(self) -> None:
        """Called before drawing: adjust controls that depend on others. Override where there are such."""

    def refresh(self) -> None:
        """Draw every panel whose values have changed."""
        with self.holding(refresh=False):
            self.prepare()
        values, said = self.values, {""}
        for name, panel in self.panels.items():
            needed = panel.values(values)
            key = tuple(needed.values())
            if self._drawn_for.get(name) != key:
                self._drawn_for[name] = key
                self.drawn[name] += 1
                self._rendered[name], self._errors[name] = _rendered(panel, needed)
            again = (
                self._errors[name] in said and self._errors[name] != ""
            )  # said once, for the first panel that has it
            self._show(self.views[name], "" if again else self._rendered[name])
            said.add(self._errors[name])
        self._show(self.words, words_html(self.caption(), self._moved))

    def caption(self) -> str:
        """What the pictures show now, in words."""
        if self._caption is None:
            return ""
        try:
            return self._caption(**self.values)
        except Exception as error:
            return error_text(error)

    def still(self) -> Picture:
        """The picture for pages without a kernel."""
        try:
            if self._still is not None:
                return self._still(**self.values)
            panel = next(iter(self.panels.values()))
            return panel.draw(**panel.values(self.values))
        except Exception as error:
            return _error_picture(error_text(error))

    @contextlib.contextmanager
    def holding(self, refresh: bool = True) -> Iterator[None]:
        """Let controls move without drawing; draw once at the end."""
        before, self._holding = self._holding, True
        try:
            yield
        finally:
            self._holding = before
        if refresh and not before:
            self.refresh()

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={_shown(control)}" for name, control in self.controls.items())
        return f"{type(self).__name__}({settings})" + (f"\n{self.caption()}" if self.caption() else "")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        still = self.still()
        live = self.box._repr_mimebundle_()
        image = base64.b64encode(still.small_png()).decode("ascii")
        return {**live, "image/png": image, "text/plain": repr(self)}, {"image/png": {"alt": alt_text(still)}}

    def _changed(self, change: Any) -> None:
        if not self._holding:
            self._moved = f"{change['owner'].description}: {_shown(change['owner'])}."
            self.refresh()

    def _reset(self) -> None:
        with self.holding():
            self._moved = "As at first."
            for name, state in self._first.items():
                for trait, value in state.items():
                    setattr(self.controls[name], trait, value)

    @staticmethod
    def _show(view: ipywidgets.HTML, html: str) -> None:
        if view.value != html:
            view.value = html


def on_setting(setting: Callable[..., Any], answer: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of the controls' values that answers about the setting which they describe."""
    return lambda **values: answer(setting(**values))


def _rendered(panel: Panel, values: Mapping[str, Any]) -> tuple[str, str]:
    """What a panel draws, as HTML, and "" ; or a note in its place and the text of the error."""
    try:
        drawing = panel.draw(**values)
        body = image_html(drawing) if isinstance(drawing, Figure) else str(drawing)
        return (figure_html(panel.title, body, panel.origin) if panel.title else body), ""
    except Exception as error:
        return error_html(error), error_text(error)


def _error_picture(text: str) -> Picture:
    picture, axes = new_picture(7.0, 2.0)
    axes.set_axis_off()
    axes.text(0, 1, text[:600], va="top", family="monospace", fontsize=9, wrap=True)
    return finish(picture, origin="schematic", alt=text)


def _shown(control: ipywidgets.Widget) -> str:
    """A control's value as the reader sees it."""
    options, index = getattr(control, "options", None), getattr(control, "index", None)
    if options and index is not None:
        option = options[index]
        return str(option[0] if isinstance(option, tuple) else option)
    return str(control.value)


def _state(control: ipywidgets.Widget) -> dict[str, Any]:
    """What brings a control back to where it stands now; its value comes last."""
    return {trait: getattr(control, trait) for trait in ("options", "max", "value") if control.has_trait(trait)}


def _box(name: str, children: list[ipywidgets.Widget]) -> ipywidgets.Box:
    box = ipywidgets.Box(children, layout={"flex_flow": "row wrap"})
    box.add_class(name)
    return box
