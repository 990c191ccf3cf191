"""The page of symptoms, as someone reads it who searches for the words of an error."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from course_lib.cli.symptoms import fitting, read_rows

PAGE = Path(__file__).parents[2] / "notebooks" / "symptoms.md"


def without_long_numbers(text: str) -> str:
    """Milliseconds, ports and process numbers differ from run to run; a signal's number does not."""
    return re.sub(r"\d{2,}", "N", text)


@pytest.fixture(scope="session")
def causes() -> Callable[[str], list[str]]:
    """A function of an error's text: the causes in all rows that quote some of it, two words or more.

    `course symptoms` must name them too: each is among its first three, or the first three are all such.
    """
    page = read_rows(PAGE.read_text(encoding="utf-8"))
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if "**1.**" in line]
    quotes = {cause: [each for each in re.findall(r"`([^`]+)`", sees) if " " in each] for sees, cause, _, _ in rows}

    def of(text: str) -> list[str]:
        told = without_long_numbers(text.replace("`", ""))
        found = [cause for cause, words in quotes.items() if any(without_long_numbers(each) in told for each in words)]
        named = [match.row.cause for match in fitting(text, page)]
        assert set(found) <= set(named) or set(named) <= set(found), (found, named)
        return found

    return of
