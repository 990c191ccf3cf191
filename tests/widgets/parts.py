"""Looking into an explorer: its panels by title, its facts, and what is shown of them."""

from course_lib.widgets import Explorer, Table


def part(explorer: Explorer, title: str):
    """The panel whose title begins so."""
    return next(part for part in explorer.parts if not isinstance(part, Table | str) and part.title.startswith(title))


def facts_of(explorer: Explorer) -> dict[str, str]:
    return dict(next(part.facts for part in explorer.parts if isinstance(part, Table)))


def shown(explorer: Explorer, title: str = "") -> str:
    """The HTML of the panel whose title begins so, or of the facts; nothing if there is none."""
    if not title:
        return explorer.views[0].value
    return next((view.value for view in explorer.views if f">{title}" in view.value), "")
