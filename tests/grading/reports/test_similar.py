"""Answers that are alike: renamed copies are found, what everybody has is not, and the page says what it proves not."""

import json
import random
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner

from course_lib.cli import main
from course_lib.grading.exercises import sources
from course_lib.grading.reports.similar import Answers, pairs, passages, public_ones, similar_page, tokens

GIVEN = "def ring(comm, tensor):\n    raise NotImplementedError\n"
PUBLIC = """def ring(comm, tensor):
    right = (comm.rank + 1) % comm.world_size
    for step in range(comm.world_size - 1):
        work = comm.isend(tensor[step], right)
        comm.recv(tensor[step + 1], right - 2)
        work.wait()
"""
MINE = """def ring(comm, tensor):
    # my own idea: two halves
    n = comm.world_size
    halves = [tensor[:n // 2], tensor[n // 2:]]
    while n > 1:
        n, odd = divmod(n, 2)
        partner = comm.rank ^ n if not odd else None
        if partner is not None and partner < comm.world_size:
            halves[odd] += comm.sendrecv(halves[1 - odd], partner)
"""
RENAMED = MINE.replace("halves", "parts").replace("partner", "p").replace("# my own idea: two halves", "# split")
OTHER = """def ring(comm, tensor):
    boxes = {}
    for peer in sorted(set(range(comm.world_size)) - {comm.rank}):
        boxes[peer] = torch.empty_like(tensor)
    handles = [comm.irecv(box, peer) for peer, box in boxes.items()]
    handles.extend(comm.isend(tensor.clone(), peer) for peer in boxes)
    [handle.wait() for handle in handles]
    tensor.add_(sum(boxes.values()))
"""


def answers(**students: str) -> Answers:
    return Answers("02a", GIVEN, students, {"solution": PUBLIC})


def test_a_renamed_copy_is_found_and_another_way_is_not() -> None:
    found, usual = pairs([answers(ann=MINE, bob=RENAMED, cy=OTHER)])
    assert [(pair.one, pair.other, pair.share, pair.exercises) for pair in found] == [("ann", "bob", 1.0, ("02a",))]
    assert usual == 0


def test_two_who_have_the_public_answer_are_no_pair_but_like_the_solution() -> None:
    renamed = PUBLIC.replace("right", "next_one").replace("step", "k")
    those = [answers(ann=PUBLIC, bob=renamed, cy=OTHER)]
    assert pairs(those)[0] == []
    assert public_ones(those) == {"ann": [("02a", "solution")], "bob": [("02a", "solution")]}


@pytest.mark.parametrize("many", [4, 10, 30])
def test_what_many_of_the_class_wrote_makes_no_pair(many: int) -> None:
    assert pairs([answers(**{f"s{number}": MINE for number in range(many)}, cy=OTHER)])[0] == []


def test_a_copy_is_found_among_thirty() -> None:
    chosen = random.Random(3)

    def term() -> str:
        kind = chosen.choice(["comm.{}(x)", "x.{}[{}]", "({} - x) * {}", "[y ** {} for y in x]", "x if x > {} else {}"])
        return kind.format(chosen.randrange(99), chosen.randrange(99)).replace("comm.", "comm.a").replace("x.", "x.b")

    def own() -> str:
        return "def ring(comm, x):\n" + "\n".join(f"    x {chosen.choice('+-*/@')}= {term()}" for _ in range(9)) + "\n"

    students = {f"s{number:02d}": own() for number in range(28)} | {"ann": MINE, "bob": RENAMED}
    found, usual = pairs([answers(**students)])
    assert [(pair.one, pair.other) for pair in found] == [("ann", "bob")]
    assert usual < 0.1


def test_shares_add_up_over_exercises_and_a_short_answer_is_no_finding() -> None:
    short = "def ring(comm, tensor):\n    return comm.gather(tensor, 0)\n"
    assert pairs([answers(ann=short, bob=short)])[0] == []
    two = [answers(ann=MINE, bob=RENAMED), Answers("02b", GIVEN, {"ann": OTHER, "bob": OTHER}, {})]
    [pair] = pairs(two)[0]
    assert (pair.exercises, pair.shared, pair.of) == (("02a", "02b"), pair.of, pair.shared)


def test_passages_are_the_lines_that_two_share() -> None:
    left, right = passages("import os\n" + MINE, RENAMED)
    assert (left, right) == ({1, 3, 4, 5, 6, 7, 8, 9}, {0, 2, 3, 4, 5, 6, 7, 8})  # the line of the comment is not one
    assert passages(MINE, "") == (set(), set())


@pytest.mark.parametrize("source", ["", "def f(:\n  (", "  x = 1\n y", "%%time\nf(", "'''", "\x00", "ä = '€'"])
def test_what_is_no_python_is_no_error(source: str) -> None:
    assert isinstance(tokens(source), list)
    assert "Answers that are alike" in similar_page([answers(ann=source, bob=source)])


def test_the_page_marks_the_passages_and_says_first_what_they_do_not_prove() -> None:
    text = similar_page([answers(ann=MINE, bob=RENAMED + "    x = '<b>'\n")], left_out=2)
    assert text.index("What this page does not prove") < text.index("Students who share passages")
    assert "2 files could not be read" in text
    assert "<mark><strong>    n = comm.world_size</strong></mark>" in text  # letter by letter
    assert "<mark>    parts = [tensor[:n // 2], tensor[n // 2:]]</mark>" in text
    assert "&#x27;&lt;b&gt;&#x27;" in text
    assert "# split</mark>" not in text


def test_nobody_is_alike_in_a_class_of_none_or_one() -> None:
    for those in ([], [answers()], [answers(ann=MINE)]):
        assert "<p>None.</p>" in similar_page(those)


def notebook(*cells: str) -> str:
    made = [{"cell_type": "code", "source": source, "metadata": {}, "outputs": []} for source in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_the_command_reads_a_class_as_grading_does_and_runs_nothing(tmp_path: Path) -> None:
    solution = sources.program("02d")[1]
    function = "def direct_all_reduce"
    bomb = "open('ran', 'w')\n"
    (tmp_path / "ann.ipynb").write_text(notebook(bomb + MINE.replace("def ring", function), solution))
    (tmp_path / "bob").mkdir()
    (tmp_path / "bob/02_allreduce.ipynb").write_text(notebook(RENAMED.replace("def ring", function), "x = 1"))
    (tmp_path / "cy.ipynb").write_text("broken")
    done = CliRunner().invoke(main, ["similar", str(tmp_path), "--out", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "2 students, 3 answers" in text
    assert "<summary>ann and bob</summary>" in text
    assert "1 files could not be read" in text
    assert list(tmp_path.rglob("ran")) == []
    refused = CliRunner().invoke(main, ["similar", str(tmp_path), "--chapter", "99"])
    assert refused.exit_code == 1
    assert "chapter '99' has no exercises" in refused.output


def test_public_answers_of_different_kinds_are_not_all_alike() -> None:
    """Of the catalogue's right answers to an exercise, most pairs share less than what is called alike."""
    shares = []
    for name in ("02d", "02e", "04a"):
        right = dict(sources.answers_of(name)["right"])
        those = Answers(name, "", {**right, "solution": sources.program(name)[1]}, {})
        for one, other in combinations(those.students, 2):
            two = Answers(name, "", {each: those.students[each] for each in (one, other)}, {})
            shares.append(bool(pairs([two])[0]))
    assert sum(shares) <= len(shares) / 2
