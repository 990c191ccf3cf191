"""All that an explorer can show where a page moves some of its controls, computed ahead, for pages without a kernel.

    states_of(PipelineExplorer())     # every place that its moves lead to, as a page's script reads it

A place is where all controls stand. Moves lead from place to place by the explorer's own rules, so a page shows what
the explorer would show, whatever is moved in whatever order; and no choice that a page offers leads nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import ipywidgets

from course_lib.widgets.controls import Bits, fit_bits, offered, rule_against, shown_value
from course_lib.widgets.explorer import Explorer


class Place(NamedTuple):
    """What a page shows where the controls stand somewhere.

    Attributes:
        values: of all controls, by name.
        shown: the same as the reader sees them.
        offers: the choices of each control that is moved, by name.
        leads: the number of the place that each of these choices leads to, by name.
        disabled: why a control is disabled, by name, for those that are.
        words: the sentence about the pictures.
        views: the pictures as HTML, and whether each takes the whole width.
    """

    values: dict[str, Any]
    shown: dict[str, str]
    offers: dict[str, list[str]]
    leads: dict[str, list[int]]
    disabled: dict[str, str]
    words: str
    views: list[tuple[str, bool]]


Where = dict[str, dict[str, Any]]
Leads = dict[str, dict[Any, int]]


def places_of(explorer: Explorer, max_values: int | None = None) -> list[Place]:
    """Every place that moves lead to, the one where the explorer stands now first.

    Args:
        explorer: its `book_values` say which controls are moved.
        max_values: so many values of each control at most, the ends and where it stands among them.
    """
    values = {name: _some(explorer.controls[name], values, max_values) for name, values in explorer.in_book.items()}
    found = _walk(explorer, values)
    places = [_seen(explorer, where, leads, values) for where, leads in found]
    explorer.put(found[0][0])
    explorer.refresh()
    return places


def states_of(explorer: Explorer, max_values: int | None = None) -> dict[str, Any]:
    """The places as the page's script reads them: each text is stored once, and named by its number."""
    places = places_of(explorer, max_values)
    moved = [name for name in explorer.controls if name in places[0].offers]
    texts = _numbered(_texts(places))
    offers = _numbered(tuple(place.offers[name]) for place in places for name in moved)
    player = getattr(explorer, "player", [])
    controls = [
        {"label": control.description, "kind": _kind(control, player) if name in moved else "rest"}
        for name, control in sorted(explorer.controls.items(), key=lambda item: item[1] in player)
    ]
    order = sorted(moved, key=lambda name: explorer.controls[name] in player)
    stored = [
        {
            "offers": [offers[tuple(place.offers[name])] for name in order],
            "at": [place.offers[name].index(place.shown[name]) for name in order],
            "leads": [place.leads[name] for name in order],
            "off": [texts[place.disabled[name]] if name in place.disabled else -1 for name in order],
            "rest": [texts[text] for name, text in place.shown.items() if name not in moved],
            "words": texts[place.words],
            "views": [[texts[html], int(wide)] for html, wide in place.views],
        }
        for place in places
    ]
    return {"controls": controls, "texts": list(texts), "offers": list(offers), "places": stored}


def _some(control: ipywidgets.Widget, values: Sequence[Any] | None, most: int | None) -> list[Any] | None:
    """At most so many of the values, evenly apart."""
    if most is None:
        return None if values is None else list(values)
    chosen = list(offered(control)) if values is None else list(values)
    last = len(chosen) - 1
    return chosen if last < most else [chosen[round(place * last / (most - 1))] for place in range(most)]


def _choices(control: ipywidgets.Widget, values: Iterable[Any] | None) -> dict[Any, str]:
    """What a page offers of a control now: the values it may have, and its own among them, as the reader sees them; its
    own alone while it is disabled."""
    if getattr(control, "disabled", False):
        return {control.value: shown_value(control)}
    if isinstance(control, Bits):
        fitting = [fit_bits(bits, len(control.value)) for bits in values or []]
        return {bits: bits for bits in dict.fromkeys([control.value, *fitting])}
    known = offered(control)
    if values is None:
        return known
    wanted = {value for value in values if not rule_against({"": control}, "", value)}
    return {value: name for value, name in known.items() if value in wanted or value == control.value}


def _walk(explorer: Explorer, values: dict[str, list[Any] | None]) -> list[tuple[Where, Leads]]:
    """Every place that moves lead to, in the order of the controls' values, and the place that each move leads to."""
    numbers = {_key(explorer): 0}
    wheres, moves = [explorer.where()], list[Leads]()
    for where in wheres:  # it grows
        leads: Leads = {}
        for name, wanted in values.items():
            explorer.put(where)
            leads[name] = {}
            for value in _choices(explorer.controls[name], wanted):
                explorer.put(where)
                _move(explorer, name, value)
                leads[name][value] = numbers.setdefault(_key(explorer), len(wheres))
                if len(numbers) > len(wheres):
                    wheres.append(explorer.where())
        moves.append(leads)
    return list(zip(wheres, moves, strict=True))


def _move(explorer: Explorer, name: str, value: Any) -> None:
    """Move one control, as a reader does, without drawing."""
    with explorer.holding(refresh=False):
        explorer.controls[name].value = value
        explorer.prepare()


def _seen(explorer: Explorer, where: Where, leads: Leads, values: dict[str, list[Any] | None]) -> Place:
    """What an explorer shows there."""
    explorer.put(where)
    explorer.refresh()
    controls = explorer.controls
    used = [view for view in explorer.views if "explorer-unused" not in view._dom_classes]
    return Place(
        values=explorer.values,
        shown={name: shown_value(control) for name, control in controls.items()},
        offers={name: list(_choices(controls[name], wanted).values()) for name, wanted in values.items()},
        leads={name: list(numbers.values()) for name, numbers in leads.items()},
        disabled={
            name: control.tooltip or "" for name, control in controls.items() if getattr(control, "disabled", False)
        },
        words=explorer.caption,
        views=[(view.value, "explorer-wide" in view._dom_classes) for view in used],
    )


def _key(explorer: Explorer) -> tuple[Any, ...]:
    return tuple(explorer.values.values())


def _kind(control: ipywidgets.Widget, player: Sequence[ipywidgets.Widget]) -> str:
    """How a page shows a control."""
    if control in player:
        return "steps"
    return "menu" if isinstance(control, ipywidgets.Dropdown | Bits) else "slider"


def _texts(places: Sequence[Place]) -> Iterable[str]:
    """All texts of the places, those next to each other that are alike, so that they are packed tightly."""
    for place in places:
        yield from (*place.disabled.values(), *place.shown.values(), place.words)
    for number in range(max(len(place.views) for place in places)):
        yield from (place.views[number][0] for place in places if number < len(place.views))


def _numbered(things: Iterable[Any]) -> dict[Any, int]:
    return {thing: number for number, thing in enumerate(dict.fromkeys(things))}
