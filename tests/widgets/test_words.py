"""Explorers say "1 rank" and "2 ranks", wherever their controls stand."""

import re

import pytest

import course_lib.widgets
from course_lib.draw.units import format_count

EXPLORERS = course_lib.widgets.EXPLORERS
THINGS = "ranks|stages|micro-batches|devices|steps|times|sequences|nodes|buckets|layers|chunks|failures|samples|updates"
ONE_OF_MANY = re.compile(rf"(?<!rank )(?<!stage )(?<!worker )(?<![/×+−-] )(?<![\w.,/×+−-])1 (?:{THINGS}|values|GPUs)\b")


def words_of(explorer):
    """All texts: of the sentence above, of tables and axes, and what a picture is called for who does not see it."""
    shown = " ".join(view.value for view in explorer.views)
    return [explorer.caption, *re.findall(r'aria-label="([^"]*)"', shown), *re.sub(r"<[^>]+>", "\n", shown).split("\n")]


def ends_of(control):
    """The first and the last setting of a control; none for one that has neither options nor ends."""
    if hasattr(control, "options"):
        values = [option[1] if isinstance(option, tuple) else option for option in control.options]
        return values[0], values[-1]
    return (control.min, control.max) if hasattr(control, "max") else ()


@pytest.mark.parametrize("name", EXPLORERS)
def test_one_is_singular_wherever_the_controls_stand(name):
    explorer = getattr(course_lib.widgets, name)()
    faults = set()
    for moved, control in explorer.controls.items():
        first = explorer.values
        for end in ends_of(control):
            explorer.set(**{moved: end})
            faults |= {(moved, end, found[0]) for text in words_of(explorer) if (found := ONE_OF_MANY.search(text))}
        explorer.reset.click()
        assert explorer.values == first
    assert faults == set()


@pytest.mark.parametrize("count", [1, 2])
def test_the_rule_sees_a_wrong_plural_and_nothing_else(count):
    assert not ONE_OF_MANY.search(f"on {format_count(count, 'rank')}")
    assert ONE_OF_MANY.search("on 1 ranks")
    assert not ONE_OF_MANY.search("8 × 1 ranks")
