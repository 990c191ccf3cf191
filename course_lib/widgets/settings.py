"""Explorers whose controls are declared once, as the fields of a setting.

    @dataclass(frozen=True)
    class RingSetting:
        ranks: int = control(8, number, "ranks", 2, 64)
        latency_s: float = control(5e-6, seconds_slider, "latency", about="of each message")

    class RingExplorer(SettingExplorer):
        '''How long a ring takes.'''

        Setting = RingSetting

        def pictures(self, setting):
            return [f"{setting.ranks} ranks take {2 * (setting.ranks - 1)} steps."]

A field says its first value, the function that makes its control, its label and what it offers. The explorer's
arguments, its help and what the book offers of the control follow from it, so a slider more is a field more.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, get_type_hints

import ipywidgets

from course_lib.widgets.controls import Play, disable, step_player
from course_lib.widgets.explorer import Explorer, Part

EVERY: Any = None  # in the book a control offers every value that it has
_NOT_IN_BOOK: Any = ()


def control(
    first: Any,
    make: Callable[..., ipywidgets.Widget],
    label: str,
    *args: Any,
    book: Sequence[Any] | None = _NOT_IN_BOOK,
    about: str = "",
    **more: Any,
) -> Any:
    """A field of a setting, and its control: `make(label, *args, value, **more)`.

    Args:
        first: the field's default, where the control stands at first.
        make: a function such as `menu`, `number` or `scale`.
        book: the values that the book offers, where an explorer moves without a kernel: EVERY for all of the
            control's. A field without `book` stays where it is there.
        about: what the argument's help says besides the label.
    """
    metadata = {"control": lambda setting, value: make(label, *args, value, **more), "label": label}
    return dataclasses.field(default=first, metadata=metadata | {"book": book, "about": about})


def control_of(
    first: Any,
    make: Callable[[Any, Any], ipywidgets.Widget],
    label: str = "",
    *,
    book: Sequence[Any] | None = _NOT_IN_BOOK,
    about: str = "",
) -> Any:
    """The same where the control depends on other fields, too: `make(setting, value)`; `label` is for the help."""
    return dataclasses.field(default=first, metadata={"control": make, "label": label, "book": book, "about": about})


class SettingExplorer(Explorer):
    """An explorer of a `Setting`, a frozen dataclass: each field made by `control` has a control, in their order.

    Args:
        asked: where controls stand at first, by the names of the fields; the others stand at the fields' defaults.
            Fields without a control keep what they are given.

    Attributes:
        asked: the setting as it was asked for.

    Raises:
        TypeError: if the setting has no such field.
        ValueError: if a control cannot stand there.
    """

    Setting: ClassVar[Any]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "Setting"):
            return
        declared = _declared(cls.Setting)
        cls.book_values = MappingProxyType(
            {name: said["book"] for name, said in declared.items() if said["book"] != _NOT_IN_BOOK}
        )
        cls.__signature__ = _signature(cls)  # type: ignore[attr-defined]
        if "__doc__" in vars(cls) and declared:
            cls.__doc__ = f"{inspect.cleandoc(cls.__doc__ or '')}\n\n{_help(declared)}"

    def __init__(self, **asked: Any) -> None:
        known = [field.name for field in dataclasses.fields(self.Setting)]
        if unknown := [name for name in asked if name not in known]:
            raise TypeError(f"{type(self).__name__} has {', '.join(known)}, got {', '.join(unknown)}")
        self.asked: Any = self.Setting(**asked)
        super().__init__(lambda **values: self.pictures(self._setting_of(values)), **self.make_controls())

    def pictures(self, setting: Any) -> Part | Sequence[Part]:
        """What is shown of a setting: a panel, or a list of sentences, tables and panels."""
        raise NotImplementedError

    def make_controls(self) -> dict[str, ipywidgets.Widget]:
        """The controls by the names of their fields, where they were asked to stand."""
        declared = _declared(self.Setting)
        return {name: said["control"](self.asked, getattr(self.asked, name)) for name, said in declared.items()}

    @property
    def setting(self) -> Any:
        """The setting that the controls say now."""
        return self._setting_of(self.values)

    def _setting_of(self, values: Mapping[str, Any]) -> Any:
        return dataclasses.replace(self.asked, **values)


class SteppedExplorer(SettingExplorer):
    """An explorer whose setting has a `step`, a `step_slider`: buttons play it, back and forward.

    Attributes:
        no_steps: why the step is disabled and stays at 0, where there is nothing to play.
    """

    no_steps: ClassVar[str] = "nothing moves here"

    def make_controls(self) -> dict[str, ipywidgets.Widget]:
        """The controls by the names of their fields; the step gets the buttons that play it."""
        controls = super().make_controls()
        self.step_slider = controls["step"]
        self.player = step_player(self.step_slider)
        self._wanted_step: int | None = self.asked.step
        self._was_at_zero = False
        return controls

    def steps(self, setting: Any) -> int:
        """How many steps a setting has; 0 where there is nothing to play."""
        raise NotImplementedError

    def before_playing(self, setting: Any) -> dict[str, Any]:
        """Controls that the first step moves, and whereto, so that what plays is shown; empty where it is shown."""
        return {}

    def prepare(self) -> None:
        """Let the slider have the steps of the setting, and the first step show what plays."""
        steps = self.steps(self.setting)
        disable(self.step_slider, steps < 1, self.no_steps)
        for part in self.player[1:]:
            part.disabled = steps < 1
        self.step_slider.max = max(steps, 1)
        if self._wanted_step is not None:  # where the author wants it, now that the steps are known
            self.step_slider.value, self._wanted_step = min(self._wanted_step, max(steps, 1)), None
        moved = self.before_playing(self.setting)
        if steps and moved and self._was_at_zero and self.step_slider.value:
            for name, value in moved.items():
                self.controls[name].value = value
        elif steps < 1 or (moved and self.step_slider.value):
            self._back_to_zero()
        self._was_at_zero = not self.step_slider.value and bool(moved)

    def _back_to_zero(self) -> None:
        self.step_slider.value = 0
        for part in self.player[1:]:
            if isinstance(part, Play) and part.moves:
                part.end()


def _declared(setting: Any) -> dict[str, Mapping[str, Any]]:
    """What each field with a control says of it, by name."""
    return {field.name: field.metadata for field in dataclasses.fields(setting) if "control" in field.metadata}


def _signature(explorer: type[SettingExplorer]) -> inspect.Signature:
    """The arguments of an explorer's own `__init__`, if it has one, then the fields that have controls, by keyword."""
    _, *own = inspect.signature(explorer.__init__, eval_str=True).parameters.values()
    first = [each for each in own if each.kind is not each.VAR_KEYWORD]
    types, setting = get_type_hints(explorer.Setting), explorer.Setting
    fields = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=getattr(setting, name), annotation=types[name])
        for name in _declared(setting)
        if name not in {each.name for each in first}
    ]
    return inspect.Signature([*first, *fields])


def _help(declared: Mapping[str, Mapping[str, Any]]) -> str:
    """A line for each control: its argument, its label, and what else is to be known."""
    lines = ["Controls, each an argument for where it stands at first:"]
    for name, said in declared.items():
        known = ", ".join(filter(None, [f'"{said["label"]}"' if said["label"] else "", said["about"]]))
        lines.append(f"    {name}: {known}" if known else f"    {name}")
    return "\n".join(lines)
