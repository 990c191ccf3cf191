"""`course report`: pages and tables from the grades."""

import csv
import json

import pytest
from click.testing import CliRunner

from course_lib.cli import main
from course_lib.grading.judge.grader import Grade
from course_lib.grading.submissions.folder import Graded
from course_lib.grading.submissions.gradebook import as_json


def grades(*points, messages=("case: rank 1 did nothing",)):
    titles = ["Each with each", "Ring reduce-scatter"]
    found = [("02a", 2), ("02b", 4)]
    return [
        Grade(name, title, got, most, [] if got == most else list(messages))
        for (name, most), title, got in zip(found, titles, points, strict=True)
    ]


@pytest.fixture
def folder(tmp_path):
    graded = [
        Graded("ann", "ann/02_allreduce.ipynb", grades(2, 0), "d1"),
        Graded("bob <b>", "bob/02_allreduce.ipynb", grades(0, 0, messages=["case: <script>x</script>"]), "d2"),
        Graded("=cyd", "cyd/02_allreduce.ipynb", grades(2, 4), "d3"),
    ]
    (tmp_path / "grades.json").write_text(as_json(graded, "walls"))
    return tmp_path


def report(*arguments):
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


def read(path):
    return list(csv.reader(path.read_text().splitlines()))


def test_each_student_has_a_page_with_what_was_asked_what_came_and_a_hint(folder):
    assert report(folder).exit_code == 0
    pages = {path.name: path.read_text() for path in (folder / "reports" / "students").iterdir()}
    assert sorted(pages) == ["001__cyd.html", "002_ann.html", "003_bob_b_.html"]
    ann = pages["002_ann.html"]
    assert "<strong>2 of 6 points.</strong>" in ann
    assert "<code>ring_reduce_scatter(comm, tensor)</code>" in ann  # what was asked
    assert "<pre>case: rank 1 did nothing</pre>" in ann  # what came
    assert ann.count("A hint.") == 1
    assert "bob" not in ann
    assert "<script>x" not in pages["003_bob_b_.html"]


def test_the_class_page_counts_mistakes_and_links_to_the_students(folder):
    report(folder)
    page = (folder / "reports" / "class.html").read_text()
    assert "3 students, 6 answers" in page
    assert "a rank did nothing" in page
    assert 'href="students/002_ann.html"' in page
    assert "bob &lt;b&gt;" in page
    for link in ("src=", "http"):  # nothing is loaded from anywhere
        assert link not in page


def test_a_platform_gets_its_own_ids(folder):
    ids = folder / "ids.csv"
    ids.write_text("ID number,student\n17,ann\n18,bob <b>\n19,=cyd\n")
    assert report(folder, "--ids", ids).exit_code == 0
    rows = read(folder / "reports" / "platform.csv")
    assert rows == [
        ["ID number", "student", "chapter 02"],
        ["19", "'=cyd", "6"],
        ["17", "ann", "2"],
        ["18", "bob <b>", "0"],
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ID,student\n1,ann\n", "no ID for =cyd, bob <b>"),
        ("ID,student\n1,ann\n2,ann\n", "the student 'ann' twice"),
        ("name,number\nann,1\n", "the columns student and one more"),
        ("", "the columns student and one more"),
    ],
)
def test_ids_that_do_not_fit_are_named(folder, text, words):
    (folder / "ids.csv").write_text(text)
    found = report(folder, "--ids", folder / "ids.csv")
    assert found.exit_code == 1
    assert words in found.output


def test_without_grades_it_says_what_to_do(tmp_path):
    found = report(tmp_path)
    assert found.exit_code == 1
    assert "course grade SUBMISSIONS --out" in found.output


def test_a_grade_that_is_missing_is_no_zero(folder):
    said = json.loads((folder / "grades.json").read_text())
    said["submissions"][0]["exercises"][0].update(state="judge's error", points=None)
    (folder / "grades.json").write_text(json.dumps(said))
    report(folder)
    assert ["ann", ""] in read(folder / "reports" / "platform.csv")
    assert "1 answers have no grade" in (folder / "reports" / "class.html").read_text()
