"""`course report`: pages and tables from the grades."""

import csv
import json
import unicodedata

import pytest
from click.testing import CliRunner

from course_lib.cli import main
from course_lib.grading.judge.grader import Grade
from course_lib.grading.reports.platform import read_ids
from course_lib.grading.reports.student import next_steps, student_page
from course_lib.grading.submissions.folder import JUDGE_ERROR, NOT_READ, Graded
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


def page_of(*handed_in):
    return student_page("ann", list(handed_in))


def test_what_is_right_takes_one_line_and_the_page_ends_with_what_comes_next():
    page = page_of(Graded("ann", "ann/02_allreduce.ipynb", grades(2, 4), "d"))
    assert "<strong>Right:</strong> 02a Each with each (2 of 2); 02b Ring reduce-scatter (4 of 4).</p>" in page
    for word in ("A hint.", "<pre>", "<h3>", "ring_reduce_scatter(comm, tensor)"):
        assert word not in page
    assert next_steps([Graded("ann", "02.ipynb", grades(2, 4))])[2] == (
        "<li>Everything is right. Chapter 03 comes next.</li>"
    )


def test_code_in_a_hint_is_code_and_not_text_with_backticks():
    handed_in = [Grade("06d", "The step and its bubble", 0, 4, ["case: rank 1 did nothing"])]
    page = page_of(Graded("ann", "ann/06_pipeline_parallelism.ipynb", handed_in, "d"))
    assert "then <code>transfer</code> later" in page
    assert "`" not in page


def test_what_to_do_next_names_what_is_begun_before_what_is_not():
    wrong, unwritten = grades(1, 0)
    empty = Grade("02c", "Ring all-gather", 0, 3, ["not attempted yet: the function still raises NotImplementedError"])
    steps = next_steps([Graded("ann", "02.ipynb", [empty, wrong, unwritten])])
    assert steps[2:4] == [
        "<li>Go on with 02a Each with each: it is begun, and 1 point is open.</li>",
        "<li>Then begin with 02c Ring all-gather: 3 points are open.</li>",
    ]
    page = page_of(Graded("ann", "02.ipynb", [empty, wrong]))
    assert page.index("<h3>02a") < page.index("<h3>Not begun</h3>") < page.index("What to do next")
    assert "NotImplementedError" not in page


def test_a_file_that_cannot_be_read_is_to_be_handed_in_again_and_nothing_else_is_promised():
    broken = Graded("ann", "in/ann.ipynb", [Grade("-", "", 0, 0, ["line 1 is no JSON"], state=NOT_READ)])
    steps = next_steps([broken])
    assert steps[2:-1] == ["<li>Open ann.ipynb in Jupyter, save it, and hand it in again.</li>"]
    assert next_steps([Graded("ann", "02.ipynb", [Grade("02a", "", 0, 2, [], state=JUDGE_ERROR)])]) == []


def test_a_bar_is_as_long_as_its_share_of_the_class(folder):
    report(folder)
    page = (folder / "reports" / "class.html").read_text()
    assert 'style="width:33%"' in page
    assert 'style="width:67%"' not in page
    assert 'aria-label="1 of 3 students made it"' in page


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


MOODLE = """First name,Last name,ID number,Institution,Department,Email address,Quiz 1 (Real)
Ann,Ash,,,,ann@uni.example,3.00
Bob,<b>,,,,bob <b>@uni.example,-
Eve,Elm,,,,eve@uni.example,-
"""
CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Quiz 1 (87),Current Score
"    Points Possible",,,,,10,(read only)
"Ash, Ann",17,u17,ann,A,3,30
"b, Bob",18,u18,bob <b>,B,,
"Elm, Eve",20,u20,eve,A,,
"Student, Test",99,,0aa,A,,
"""


def test_an_export_of_moodle_is_a_list_of_ids(folder):
    (folder / "ids.csv").write_text(MOODLE)
    found = report(folder, "--ids", folder / "ids.csv")
    assert found.exit_code == 0
    rows = {row[1]: row for row in read(folder / "reports" / "platform.csv")}
    assert rows["student"] == ["Email address", "student", "chapter 02"]
    assert rows["ann"] == ["ann@uni.example", "ann", "2"]
    assert rows["eve"] == ["eve@uni.example", "eve", "0"]
    assert "no Email address for =cyd" in found.stderr


def test_what_canvas_reads_has_its_own_columns_in_front(folder):
    (folder / "ids.csv").write_text(CANVAS)
    assert report(folder, "--ids", folder / "ids.csv").exit_code == 0
    rows = read(folder / "reports" / "platform.csv")
    assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "chapter 02"]
    assert ["Ash, Ann", "17", "u17", "ann", "A", "2"] in rows
    assert ["Elm, Eve", "20", "u20", "eve", "A", "0"] in rows
    assert ["'=cyd", "", "", "", "", "6"] in rows
    assert len(rows) == 5  # neither the points possible nor the student who tries things


@pytest.mark.parametrize("way", ["Ann Ash", "Ash, Ann", "ann@uni.example", "ann"])
def test_a_student_of_an_export_is_who_most_are_named_so(tmp_path, way):
    (tmp_path / "ids.csv").write_text(MOODLE)
    assert read_ids(tmp_path / "ids.csv", [way]).of[way] == "ann@uni.example"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ID,student\n1,ann\n2,ann\n", "the student 'ann' twice"),
        ("name,number\nann,1\n", "the columns student and one more"),
        ("", "the columns student and one more"),
        ("student,Student\nann,1\n", "the columns student and one more"),
        ("ID,student\n1\n", "a student and one id in each row, one has '1'"),
        ("ID,student\n1,\n", "a student and one id in each row"),
        ("ID,student\n1,ann\n2, ann\n", "the student 'ann' twice"),
        ("ID,student\n1,ann\n1,bea\n", "gives 'ann' and 'bea' the same ID, '1'"),
        ("ID,student,\n1,ann,x\n", "a student and one id in each row, one has '1, ann, x'"),
        ("ID,student\n" + "1" * 200_000 + ",ann\n", "cannot be read: field larger than field limit"),
        ("\x7fELF\0", "this is no text"),
    ],
)
def test_ids_that_do_not_fit_are_named(folder, text, words):
    (folder / "ids.csv").write_text(text)
    found = report(folder, "--ids", folder / "ids.csv")
    assert found.exit_code == 1
    assert words in found.output


WRITTEN = {  # one list, as editors, spreadsheets and systems write it
    "a mark": "ID,student\n17,Zoë\n".encode("utf-8-sig"),
    "semicolons": "ID;student\n17;Zoë\n".encode(),
    "tabs, in UTF-16": "ID\tstudent\r\n17\tZoë\r\n".encode("utf-16"),
    "Latin-1": "ID,student\r\n17,Zoë\r\n".encode("latin-1"),
    "spaces, an empty line, other capitals": "\nID , Student\n\n17, zoë \n,\n".encode(),
    "quotes": '"ID","student"\n"17","Zoë"'.encode(),
    "an old Mac's lines": "ID,student\r17,Zoë\r".encode(),
    "Excel's first line": "sep=;\r\nID;student\r\n17;Zoë\r\n".encode(),
    "empty columns at the end": "ID,student,,\n17,Zoë,,\n,,,\n".encode(),
    "wide spaces": "ID,student\n17,\u00a0Zoë \u2003\n".encode(),
    "apart": unicodedata.normalize("NFD", "ID,student\n17,Zoë\n").encode(),
}


@pytest.mark.parametrize("way", WRITTEN)
def test_an_id_is_found_however_the_list_and_the_name_were_written(folder, way):
    graded = [Graded(unicodedata.normalize("NFD", "Zoë"), "in/Zoë.ipynb", grades(2, 4), "d1")]
    (folder / "grades.json").write_text(as_json(graded, "walls"))
    (folder / "ids.csv").write_bytes(WRITTEN[way])
    found = report(folder, "--ids", folder / "ids.csv")
    assert (found.exit_code, found.stderr) == (0, "")
    assert read(folder / "reports" / "platform.csv") == [["ID", "student", "chapter 02"], ["17", "Zoë", "6"]]


@pytest.mark.parametrize(
    ("students", "listed", "ids"),
    [
        (["ANN", "Ann", "ann"], ["ann", "Ann"], ["", "2", "1"]),
        (["ANN", "ann"], ["ann"], ["", "1"]),
        (["Ann", "ann"], ["ANN"], ["1", "", ""]),
        (["ANN"], ["ann", "Ann"], ["", "2", "1"]),
    ],
)
def test_no_two_students_whose_names_differ_in_capitals_get_one_id(folder, students, listed, ids):
    graded = [Graded(name, f"in/{name}.ipynb", grades(2, 4), name) for name in students]
    (folder / "grades.json").write_text(as_json(graded, "walls"))
    (folder / "ids.csv").write_text("ID,student\n" + "".join(f"{n},{name}\n" for n, name in enumerate(listed, 1)))
    assert f"no ID for {students[0]}" in report(folder, "--ids", folder / "ids.csv").stderr
    assert [row[0] for row in read(folder / "reports" / "platform.csv")[1:]] == ids


def test_whoever_is_in_the_list_has_a_row_and_who_handed_in_nothing_is_named(folder):
    graded = [
        Graded("ann", "in/ann.ipynb", grades(2, 0), "d1"),
        Graded("bea", "in/bea.ipynb", [Grade("03a", "", 1, 2, [])], "d2"),
        Graded("cem", "in/cem.zip", [Grade("-", "", 0, 0, ["an archive"], state=NOT_READ)]),
        Graded("dee", "in/dee.ipynb", [Grade("02a", "", 0, 2, ["cut short"], state=NOT_READ)], "d3"),
        Graded("eve", "in/eve.ipynb", grades(2, 4), "d4"),
    ]
    (folder / "grades.json").write_text(as_json(graded, "walls"))
    (folder / "ids.csv").write_text("ID,student\n1,ann\n2,bea\n3,cem\n4,dee\n6,fay\n7,<gus>\n")
    found = report(folder, "--ids", folder / "ids.csv")
    assert "no ID for eve: " in found.stderr
    assert "Nothing handed in by <gus>, fay: 0 points in " in found.stderr
    assert read(folder / "reports" / "platform.csv") == [
        ["ID", "student", "chapter 02", "chapter 03"],
        ["7", "<gus>", "0", "0"],
        ["1", "ann", "2", "0"],
        ["2", "bea", "0", "1"],
        ["3", "cem", "", ""],  # what could not be read is no zero
        ["4", "dee", "", "0"],
        ["", "eve", "6", ""],
        ["6", "fay", "0", "0"],
    ]
    assert "Nothing handed in: &lt;gus&gt;, fay." in (folder / "reports" / "class.html").read_text()


def test_however_many_have_no_id_each_is_named(folder):
    graded = [Graded(f"student {n}", f"in/{n}.ipynb", grades(2, 4), f"{n}") for n in range(40)]
    (folder / "grades.json").write_text(as_json(graded, "walls"))
    (folder / "ids.csv").write_text("ID,student\n1,ann\n")
    found = report(folder, "--ids", folder / "ids.csv").stderr
    assert all(f"student {n}," in found or f"student {n}:" in found for n in range(40))


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


def test_without_some_ids_everything_is_written_and_all_who_have_none_are_named(folder):
    (folder / "ids.csv").write_text("ID,student\n1,ann\n")
    found = report(folder, "--ids", folder / "ids.csv")
    assert found.exit_code == 0
    assert "no ID for =cyd, bob <b>: their rows have an empty one" in found.output
    assert [row[0] for row in read(folder / "reports" / "platform.csv")] == ["ID", "", "1", ""]
    assert (folder / "reports" / "class.html").exists()


def test_who_is_in_the_list_without_an_id_is_named_whatever_they_handed_in(folder):
    (folder / "ids.csv").write_text("ID,student\n1,ann\n2,bob <b>\n3,=cyd\n,dee\n,eve\n")
    found = report(folder, "--ids", folder / "ids.csv")
    assert "no ID for dee, eve: their rows have an empty one" in found.stderr
    assert ["", "dee", "0"] in read(folder / "reports" / "platform.csv")


def test_a_second_notebook_takes_no_points_away_and_adds_none(folder):
    said = json.loads((folder / "grades.json").read_text())
    newer = json.loads(as_json([Graded("=cyd", "cyd/02_allreduce.newer.ipynb", grades(0, 0), "d4")], "walls"))
    said["submissions"] += newer["submissions"]
    (folder / "grades.json").write_text(json.dumps(said))
    report(folder)
    assert ["'=cyd", "6"] in read(folder / "reports" / "platform.csv")
    students = (folder / "reports" / "class.html").read_text().split("<h2>Students")[1]
    assert "<td class=number>6</td><td class=number>6</td>" in students
    assert "3 students, 6 answers" in (folder / "reports" / "class.html").read_text()
    page = (folder / "reports" / "students" / "001__cyd.html").read_text()
    assert "<h2>02_allreduce.ipynb: 6 of 6</h2>" in page
    assert "Of 2 notebooks" in page


def test_what_was_not_attempted_is_no_mistake(folder):
    graded = [
        Graded(
            "ann", "ann/02.ipynb", grades(2, 0, messages=["case: not attempted yet: the function still raises"]), "d1"
        ),
        Graded("bob", "bob/02.ipynb", grades(2, 0, messages=["no cell defines ring_reduce_scatter"]), "d2"),
        Graded("cyd", "cyd/02.ipynb", grades(2, 0), "d3"),
    ]
    (folder / "grades.json").write_text(as_json(graded, "walls"))
    report(folder)
    page = (folder / "reports" / "class.html").read_text()
    assert "not attempted" not in page
    assert "no cell defines" not in page
    assert "1 of 1" in page  # of those who attempted it
    assert "<td class=number>1 of 3</td></tr>" in page  # attempted


def test_an_unreadable_file_is_no_zero_on_any_page(folder):
    words = ["not a notebook: was the file cut short?"]
    unread = [Grade(each.exercise, "", 0.0, each.most, words, state=NOT_READ) for each in grades(0, 0)]
    (folder / "grades.json").write_text(as_json([Graded("emil", "emil.ipynb", unread, "d1")], "walls"))
    report(folder)
    page = (folder / "reports" / "students" / "001_emil.html").read_text()
    assert "emil.ipynb: not graded" in page
    assert page.count("not a notebook") == 1
    assert "<td class=number>?</td><td class=number>0 + ?</td>" in (folder / "reports" / "class.html").read_text()
    assert read(folder / "reports" / "platform.csv") == [["student", "chapter 02"], ["emil", ""]]
