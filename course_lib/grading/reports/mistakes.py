"""What the judge's messages have in common: the mistake without the numbers of one submission."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from course_lib.grading.judge.grader import Grade

Mistake = tuple[str, str]  # the exercise, and what went wrong

# Of the judge's messages: see `judge/requests.py` and `judge/grader.py`.
UNWRITTEN = re.compile(r"\bnot attempted yet: |^no cell defines \w+$")
LONGEST = 400
GROUP = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
VALUE = re.compile(r"-?\d+(?:[.,e+-]+\d+)*")


def attempted(grade: Grade) -> bool:
    """Whether there was an answer to judge: not what the page gives, and not a function of another name.

    >>> attempted(Grade("02a", "", 0, 2, ["not attempted yet: the function still raises NotImplementedError"]))
    False
    """
    return not grade.state and not any(UNWRITTEN.search(message) for message in grade.messages[:1])


def mistake_of(message: str) -> str:
    """What went wrong, in words that two students with the same mistake have in common.

    >>> mistake_of("twelve clusters: crossover(0.3, 2e8) is 5, you gave 4. That is the last n: one more")
    'That is the last n: one more'
    >>> mistake_of("world_size 3, batch 2: rank 1 divided the sum by the number of ranks")
    'a rank divided the sum by the number of ranks'
    """
    first_line = re.sub(r"\brank \d+", "a rank", message.split("\n")[0])
    text = first_line.split(": ", 1)[-1]
    reason = re.search(r"you gave .*?[^.]\. (.+)", text)
    if reason:
        return _short(reason[1])
    first, _, rest = text.partition(". ")
    if rest and VALUE.search(first):
        return _short(rest)
    return _short(_without_values(text))


def frequent_mistakes(grades: Iterable[Grade]) -> list[tuple[Mistake, int]]:
    """How many of these grades lost points by each mistake, the most frequent first.

    Of several messages about an exercise the first one counts. What was not attempted is no mistake.
    """
    lost = [grade for grade in grades if attempted(grade) and grade.points < grade.most and grade.messages]
    counts = Counter((grade.exercise, mistake_of(grade.messages[0])) for grade in lost)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _short(text: str) -> str:
    """At most so many letters, whole words, and a sign that there were more."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rsplit(maxsplit=1)[0]} …"


def _without_values(text: str) -> str:
    """The text with dots in the place of numbers and of what stands in brackets."""
    before = ""
    while before != text:
        before, text = text, GROUP.sub("…", text)
    return VALUE.sub("…", text)
