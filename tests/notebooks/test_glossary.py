"""The glossary: alphabetical, complete, and each translation in its own script."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "notebooks" / "glossary.md").read_text(encoding="utf-8").splitlines()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in LINES if line.startswith("| **")]
TERMS = [row[0].strip("*") for row in ROWS]

CYRILLIC = re.compile(r"[\u0400-\u04ff]")
HAN = re.compile(r"[\u4e00-\u9fff]")
ONLY_RUSSIAN = re.compile(r"[ёъыэЁЪЫЭ]")
ONLY_UKRAINIAN = re.compile(r"[іїєґІЇЄҐ]")


def test_the_glossary_has_at_least_ninety_terms() -> None:
    assert len(TERMS) >= 90


def test_terms_are_in_alphabetical_order_and_none_comes_twice() -> None:
    folded = [term.casefold() for term in TERMS]
    assert folded == sorted(set(folded))


@pytest.mark.parametrize("row", ROWS, ids=TERMS)
def test_each_row_has_one_sentence_and_each_language_its_script(row: list[str]) -> None:
    _, meaning, russian, ukrainian, chinese = row
    assert re.fullmatch(r"[A-Z][^.]*(\bet al\. [^.]*)?\.", meaning), "one sentence, from a capital to a full stop"
    assert CYRILLIC.search(russian)
    assert not ONLY_UKRAINIAN.search(russian)
    assert CYRILLIC.search(ukrainian)
    assert not ONLY_RUSSIAN.search(ukrainian)
    assert HAN.search(chinese)
    assert not CYRILLIC.search(chinese)


def test_the_words_that_the_code_uses_are_explained() -> None:
    words = {"rank", "world size", "chunk", "bucket", "shard", "stage", "micro-batch", "staleness", "bubble", "latency"}
    words |= {"bandwidth", "straggler", "rendezvous", "deadlock", "parameter server", "all-reduce", "reduce-scatter"}
    words |= {"tensor train", "loss scaling", "activation checkpointing"}
    assert words <= set(TERMS)


def test_the_readme_leads_to_the_glossary() -> None:
    assert "(notebooks/glossary.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
