"""`course build`, as a lecturer uses it."""

import json

import nbformat.v4 as nbf
import pytest
from click.testing import CliRunner

from course_lib.cli.build import MarkerError, build, derive

SOLUTION = '''def ring(comm, tensor):
    """Sum."""
    first = 1
    ### BEGIN SOLUTION
    for _ in range(2):
        comm.send(tensor, 0)
    ### END SOLUTION
    return first
'''
STUDENTS = '''def ring(comm, tensor):
    """Sum."""
    first = 1
    # TODO: your code here
    raise NotImplementedError
    return first
'''


def _solution():
    answer = nbf.new_code_cell(SOLUTION, id="answer", metadata={"tags": ["answer"]}, execution_count=3)
    answer.outputs = [nbf.new_output("stream", text="secret")]
    secret = nbf.new_code_cell("print('why')", id="why", metadata={"tags": ["solution-only"]})
    return nbf.new_notebook(cells=[nbf.new_markdown_cell("# Ring", id="title"), answer, secret])


def test_students_get_a_stub_no_outputs_and_the_same_cell_ids():
    cells = derive(_solution()).cells
    assert [cell.id for cell in cells] == ["title", "answer"]
    assert cells[1].source == STUDENTS
    assert cells[1].outputs == []
    assert cells[1].execution_count is None


@pytest.mark.parametrize("line", ["    ### BEGIN SOLUTION\n", "    ### END SOLUTION\n"])
def test_a_marker_without_its_other_half_is_refused(line):
    broken = _solution()
    broken.cells[1].source = SOLUTION.replace(line, "")
    with pytest.raises(MarkerError, match="without its other half"):
        derive(broken)


def test_building_twice_changes_nothing_and_check_sees_a_difference(tmp_path, monkeypatch):
    monkeypatch.chdir(course := tmp_path)
    (course / "solutions").mkdir()
    (course / "solutions" / "99_ring.ipynb").write_text(json.dumps(_solution()))
    target = course / "exercises" / "99_ring.ipynb"
    assert CliRunner().invoke(build, ["--check"]).exit_code == 1
    assert CliRunner().invoke(build).output == f"wrote exercises/{target.name}\n"
    text = target.read_text()
    assert "secret" not in text
    assert "comm.send" not in text
    assert CliRunner().invoke(build).output == ""
    assert CliRunner().invoke(build, ["--check"]).exit_code == 0
    target.write_text(text.replace("Ring", "Rung"))
    result = CliRunner().invoke(build, ["--check"])
    assert result.exit_code == 1
    assert "out of step with solutions/: exercises/99_ring.ipynb" in result.output


def test_an_exercises_text_says_the_points_of_the_pages_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    title = "| | you write | points |\n|---|---|---:|\n| [a](#a) | a ring | 4 |\n| [b](#b) | a tree | 1 |"
    task = "**Write** `ring(comm)`, 3 points. Limit, 1 of the 3 points: two steps; 2 points on a grid stay."
    cells = [("title", title), ("a", task), ("b", "**Write** `tree(comm)`, 2 points."), ("end", "`x`, 7 points")]
    page = tmp_path / "solutions" / "99_ring.ipynb"
    page.parent.mkdir()
    page.write_text(json.dumps(nbf.new_notebook(cells=[nbf.new_markdown_cell(text, id=name) for name, text in cells])))
    assert "solutions/99_ring.ipynb" in CliRunner().invoke(build, ["--check"]).output
    assert CliRunner().invoke(build).output == "wrote solutions/99_ring.ipynb\nwrote exercises/99_ring.ipynb\n"
    for path in (page, tmp_path / "exercises" / page.name):
        said = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]
        assert said[1] == task.replace("3 points", "4 points")
        assert said[2:] == ["**Write** `tree(comm)`, 1 point.", "`x`, 7 points"]
    assert CliRunner().invoke(build, ["--check"]).exit_code == 0
