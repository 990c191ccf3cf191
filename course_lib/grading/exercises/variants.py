r"""Variants of exercises: edits of page, answer and specification after which the public answer fails.

They stand in `solutions/variants/NN.txt`. A variant of an exercise is

    [01j] with_overlap_first
    page
        first without, then with => first with, then without
    answer
        return without, with_it => return with_it, without
    specification
        first without => first with

`page` are the exercise's cells without the answer, `answer` is the answer's cell, `specification` is the file that
says what is judged. Each edit is made once, in one place; `\n` is a new line. Mistakes that no longer stand in the
answer are left out. So are those of the catalogue, because they answer the public question. `drop` names more of them,
by how their sentences begin.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course_lib.grading.exercises.mistakes import read_mistakes
from course_lib.grading.exercises.sources import FOLDER, VARIANT, archive_of, members

FEWEST_CHARACTERS = 16  # of a secret
KEY = "course_variant"  # of a notebook's metadata
HEAD = re.compile(r"\[(\d\d[a-z])\] (\w+)")
PARTS = ("page", "answer", "specification", "drop")
MISTAKES = re.compile(r'(?<=MISTAKES = r""")(.*?)(?=""")', re.DOTALL)
Edits = list[tuple[str, str]]


class VariantError(ValueError):
    """A variant that cannot be made, or a notebook of one that is not known."""


@dataclass
class Variant:
    """The edits that make another question of an exercise."""

    exercise_id: str
    name: str
    edits: dict[str, Edits] = field(default_factory=lambda: {part: [] for part in PARTS})


def read_variants(text: str) -> list[Variant]:
    """The variants of a file.

    Raises:
        VariantError: if a line is none of the form above.
    """
    found: list[Variant] = []
    part = ""
    for line in filter(str.strip, text.splitlines()):
        if head := HEAD.fullmatch(line):
            found.append(Variant(head[1], head[2]))
            part = ""
        elif line in PARTS and found:
            part = line
        elif line[0].isspace() and part:
            old, arrow, new = (each.replace(r"\n", "\n") for each in line[4:].partition(" => "))
            if not arrow and part != "drop":
                raise VariantError(f"an edit is `old => new`, got {line!r}")
            found[-1].edits[part].append((old, new))
        elif not line.startswith("#"):
            raise VariantError(
                f"a variant's lines are `[01a] name`, one of {', '.join(PARTS)}, and edits, got {line!r}"
            )
    return found


def all_variants(folder: Path = FOLDER / "variants") -> dict[str, list[Variant]]:
    """The variants of each exercise that has some."""
    found: dict[str, list[Variant]] = {}
    for path in sorted(folder.glob("*.txt")):
        for one in read_variants(path.read_text(encoding="utf-8")):
            found.setdefault(one.exercise_id, []).append(one)
    return found


def drawn(secret: str) -> tuple[str, list[Variant]]:
    """The name of this secret's variant of the course, and which variant of each exercise it has.

    Raises:
        VariantError: if the secret has fewer than 16 characters.
    """
    if len(secret) < FEWEST_CHARACTERS:
        raise VariantError(f"the secret must have at least {FEWEST_CHARACTERS} characters, it has {len(secret)}")
    chosen = [some[_number(secret, name) % len(some)] for name, some in all_variants().items()]
    return f"{_number(secret, 'name'):064x}"[:12], chosen


def _number(secret: str, what: str) -> int:
    return int(hmac.new(secret.encode(), what.encode(), hashlib.sha256).hexdigest(), 16)


def edited(text: str, edits: Edits, where: str) -> str:
    """The text with each edit made in its one place.

    Raises:
        VariantError: if there is no such place, or several.
    """
    for old, new in edits:
        if text.count(old) != 1:
            raise VariantError(f"{where}: {old!r} must stand there once, it does {text.count(old)} times")
        text = text.replace(old, new)
    return text


def varied_page(notebook: Any, variants: list[Variant], name: str) -> Any:
    """The solutions' notebook of a chapter, changed into the variant's, whose name is in its metadata."""
    notebook["metadata"][KEY] = name
    for one in variants:
        letter, where = one.exercise_id[2:], f"{one.exercise_id} {one.name}"
        mine = [cell for cell in notebook["cells"] if cell["id"] == letter or cell["id"].startswith(f"{letter}-")]
        for part, is_its in (("page", _is_no_answer), ("answer", _is_answer)):
            for edit in one.edits[part]:
                _edit_one([cell for cell in mine if is_its(cell)], edit, f"{where}, {part}")
    return notebook


def _is_answer(cell: Any) -> bool:
    return str(cell["id"]).endswith("-answer")


def _is_no_answer(cell: Any) -> bool:
    return not _is_answer(cell)


def _edit_one(cells: list[Any], edit: tuple[str, str], where: str) -> None:
    """Make the edit in the one cell that has its place."""
    having = [cell for cell in cells if edit[0] in "".join(cell["source"])]
    if len(having) != 1:
        raise VariantError(f"{where}: {edit[0]!r} must stand in one cell, it does in {len(having)}")
    having[0]["source"] = edited("".join(having[0]["source"]), [edit], where)


def varied_pack(variants: list[Variant], name: str) -> tuple[bytes, dict[str, list[str]]]:
    """What grading needs of the variant, as `packed()` has it of the course; and each exercise's left out mistakes."""
    texts, left_out = members() | {VARIANT: name}, dict[str, list[str]]()
    for one in variants:
        where, answer = f"{one.exercise_id} {one.name}", ""
        cells = json.loads(texts[f"{one.exercise_id[:2]}.json"])
        for cell in cells:
            if cell[0] == f"{one.exercise_id[2:]}-answer":
                answer = cell[1] = edited(cell[1], one.edits["answer"], where)
        texts[f"{one.exercise_id[:2]}.json"] = json.dumps(cells)
        file = _specification(texts, one.exercise_id)
        text = edited(texts[file], one.edits["specification"], f"{where}, {file}")
        drops, gone = [old for old, _ in one.edits["drop"]], left_out.setdefault(one.exercise_id, [])
        texts[file] = MISTAKES.sub(_keeping(answer, drops, gone), text)
    return archive_of(texts), left_out


def _specification(texts: dict[str, str], exercise_id: str) -> str:
    begin = f"chapter_{exercise_id[:2]}/{exercise_id[2:]}_"
    return next(name for name in texts if name.startswith(begin))


def _keeping(answer: str, drops: list[str], gone: list[str]) -> Callable[[re.Match[str]], str]:
    """What makes of the mistakes' text those that still stand in the answer; adds to `gone` which do not."""

    def kept(found: re.Match[str]) -> str:
        blocks, sentence = [], ""
        for block in re.split(r"\n(?=\S)", found[1].strip("\n")):
            head, *edits = block.split("\n")
            sentence = sentence if head == "or" else head
            text = "\n".join([sentence, *edits])
            if _stands(text, answer) and not any(sentence.startswith(drop) for drop in drops):
                blocks.append(text)
            else:
                gone.append(sentence)
        return "\n" + "\n".join([*blocks, ""])

    return kept


def _stands(block: str, answer: str) -> bool:
    """Whether the mistake can be made in this answer."""
    (mistake,) = read_mistakes(block)
    if mistake.answer:
        return False
    for old, new in mistake.edits:
        if old not in answer:
            return False
        answer = answer.replace(old, new)
    return True
