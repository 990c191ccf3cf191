"""Which answers of a class are alike, and which are like a public one: passages side by side, and what they prove not.

Answers are compared as tokens, without comments and with one word for all names that are not an attribute's, so that a
renamed copy is alike. What the page gave, what a public answer has and what many of the class have counts for no pair.
"""

from __future__ import annotations

import io
import keyword
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from itertools import combinations
from statistics import median
from typing import NamedTuple

from course_lib.grading.reports.page import page, table

GRAM = 8  # tokens in a row, some two lines of plain code
FEWEST = 15  # grams, so that two short lines are no finding
ALIKE = 0.3  # of what is one's own
PUBLIC = 0.8  # of an answer
MANY = 0.3  # of a class, and at least
AT_LEAST = 4  # students
MOST_PAIRS = 20
LEFT_OUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
DOES_NOT_PROVE = """<h2>What this page does not prove</h2>
<ul>
<li><strong>Not that somebody copied.</strong> A short task has few right answers, and two who read the same page, book
or library, or ask the same assistant, write alike without knowing of each other.</li>
<li><strong>Not who copied from whom</strong>, and not whether they were allowed to work together.</li>
<li><strong>Not that all others worked alone.</strong> Who changes the order of lines, or takes another way, is not
here.</li>
<li><strong>Not how an answer was found.</strong> Ask for that: five minutes of talk about one line of it say more than
this page.</li>
</ul>"""


class Token(NamedTuple):
    """A word of an answer as it is compared, and the line that it stands on, from 0."""

    text: str
    line: int


@dataclass(frozen=True)
class Answers:
    """All answers to one exercise: what the page gave, each student's source, and the public ones by name."""

    exercise: str
    given: str
    students: Mapping[str, str]
    public: Mapping[str, str]


class Pair(NamedTuple):
    """How much of their own two students share: of how many grams, and in which exercises."""

    one: str
    other: str
    shared: int
    of: int
    exercises: tuple[str, ...]

    @property
    def share(self) -> float:
        return self.shared / self.of if self.of else 0.0


def tokens(source: str) -> list[Token]:
    """The words of a source as they are compared; of one that is no Python, those before that shows.

    >>> [token.text for token in tokens("total = comm.recv(left)  # from the left")]
    ['name', '=', 'name', '.', 'recv', '(', 'name', ')']
    """
    found: list[Token] = []
    try:
        for kind, text, (line, _), _, _ in tokenize.generate_tokens(io.StringIO(source).readline):
            if kind not in LEFT_OUT:
                found.append(Token(_word(kind, text, found), line - 1))
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def _word(kind: int, text: str, before: list[Token]) -> str:
    if kind == tokenize.STRING:
        return "text"
    is_free = kind == tokenize.NAME and not keyword.iskeyword(text) and not (before and before[-1].text == ".")
    return "name" if is_free else text


def _grams(source: str) -> set[tuple[str, ...]]:
    words = [token.text for token in tokens(source)]
    return {tuple(words[at : at + GRAM]) for at in range(len(words) - GRAM + 1)}


def _own(answers: Answers) -> dict[str, set[tuple[str, ...]]]:
    """Each student's grams that the page, no public answer and not many of the class have."""
    grams = {student: _grams(source) for student, source in answers.students.items()}
    known = set[tuple[str, ...]]().union(*map(_grams, [answers.given, *answers.public.values()]))
    counts = Counter(gram for each in grams.values() for gram in each)
    most = max(AT_LEAST, MANY * len(grams))
    return {student: {gram for gram in each - known if counts[gram] < most} for student, each in grams.items()}


def pairs(all_answers: Iterable[Answers]) -> tuple[list[Pair], float]:
    """The pairs of students who share much of what is their own, the most first, and the median share of all pairs."""
    shared = Counter[tuple[str, str]]()
    of = Counter[tuple[str, str]]()
    where: dict[tuple[str, str], list[str]] = {}
    for answers in all_answers:
        own = _own(answers)
        for one, other in combinations(sorted(own), 2):
            both = len(own[one] & own[other])
            shared[one, other] += both
            of[one, other] += min(len(own[one]), len(own[other]))
            if both:
                where.setdefault((one, other), []).append(answers.exercise)
    every = [Pair(*two, shared[two], of[two], tuple(where.get(two, ()))) for two in of]
    found = [pair for pair in every if pair.shared >= FEWEST and pair.share >= ALIKE]
    usual = median(pair.share for pair in every) if every else 0.0
    return sorted(found, key=lambda pair: (-pair.shared, pair.one, pair.other))[:MOST_PAIRS], usual


def public_ones(all_answers: Iterable[Answers]) -> dict[str, list[tuple[str, str]]]:
    """Student -> the exercises whose answer is nearly all in one public answer, with that one's name."""
    found: dict[str, list[tuple[str, str]]] = {}
    for answers in all_answers:
        given = _grams(answers.given)
        public = {name: _grams(source) for name, source in answers.public.items()}
        for student, source in answers.students.items():
            grams = _grams(source) - given
            best = max(public, key=lambda name: len(grams & public[name]), default="")
            if len(grams) >= FEWEST and best and len(grams & public[best]) >= PUBLIC * len(grams):
                found.setdefault(student, []).append((answers.exercise, best))
    return found


def passages(one: str, other: str) -> tuple[set[int], set[int]]:
    """The lines, from 0, of the passages that two sources share, in each of them."""
    left, right = tokens(one), tokens(other)
    matcher = SequenceMatcher(None, [token.text for token in left], [token.text for token in right], autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size >= GRAM]
    return (
        {left[at].line for block in blocks for at in range(block.a, block.a + block.size)},
        {right[at].line for block in blocks for at in range(block.b, block.b + block.size)},
    )


def similar_page(all_answers: list[Answers], left_out: int = 0) -> str:
    """The page, in HTML."""
    found, usual = pairs(all_answers)
    by_exercise = {answers.exercise: answers for answers in all_answers}
    students = {student for answers in all_answers for student in answers.students}
    body = [
        f"<p>{len(students)} students, {sum(len(each.students) for each in all_answers)} answers, compared with each"
        f" other and with the public ones. {left_out} files could not be read.</p>",
        DOES_NOT_PROVE,
        "<h2>Students who share passages</h2>",
        f"<p>Counted is what is one's own: neither given, nor public, nor written by many. A pair is listed from"
        f" {ALIKE:.0%} on; half of all pairs share {usual:.0%} or less. Marked lines are the same but for names and"
        " comments, bold ones letter by letter.</p>",
    ]
    rows = [(escape(pair.one), escape(pair.other), f"{pair.share:.0%}", ", ".join(pair.exercises)) for pair in found]
    body.append(table(["student", "student", "shared", "exercises"], rows, numbers=[2]) if rows else "<p>None.</p>")
    for pair in found:
        inner = "".join(_side_by_side(by_exercise[name], pair) for name in pair.exercises)
        body.append(f"<details><summary>{escape(pair.one)} and {escape(pair.other)}</summary>{inner}</details>")
    public = public_ones(all_answers)
    lines = [
        (escape(student), str(len(those)), ", ".join(f"{name} ({escape(like)})" for name, like in those))
        for student, those in sorted(public.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    body += [
        "<h2>Answers like a public one</h2>",
        f"<p>At least {PUBLIC:.0%} of the answer is in one of those that come with the course. Its short solutions are"
        " what most people would write, so look at who has many.</p>",
        table(["student", "answers", "which (like which)"], lines, numbers=[1]) if lines else "<p>None.</p>",
    ]
    return page("Answers that are alike", body)


def _side_by_side(answers: Answers, pair: Pair) -> str:
    one, other = answers.students[pair.one], answers.students[pair.other]
    same = set(map(str.strip, one.splitlines())) & set(map(str.strip, other.splitlines()))
    cells = [_marked(text, lines, same) for text, lines in zip((one, other), passages(one, other), strict=True)]
    return f"<h3>{escape(answers.exercise)}</h3>" + table([escape(pair.one), escape(pair.other)], [cells])


def _marked(source: str, lines: set[int], same: set[str]) -> str:
    shown = []
    for number, line in enumerate(source.splitlines()):
        text = f"<strong>{escape(line)}</strong>" if line.strip() in same and number in lines else escape(line)
        shown.append(f"<mark>{text}</mark>" if number in lines else text)
    return "<pre>" + "\n".join(shown) + "</pre>"
