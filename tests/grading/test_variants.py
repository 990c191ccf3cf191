"""Variants of exercises: the public answer gets nothing, the variant's own all, and a class may be a mix."""

import json
import os
import subprocess
import sys

import nbformat
import pytest

from course_lib.cli.build import derived_text
from course_lib.grading.exercises import find, variants
from course_lib.grading.exercises.sources import FOLDER, MARKERS, program

SECRETS = ("the lecturer's own", "another lecturer")
ALL = variants.all_variants()


def course(*arguments, pack=None):
    """What a call of the command line ends with."""
    environment = os.environ | ({"COURSE_EXERCISES": str(pack)} if pack else {})
    call = [sys.executable, "-m", "course_lib", *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, env=environment, check=False, cwd=FOLDER.parent)


def build(secret, out):
    """The folder of this secret's variant."""
    ended = course("build", "--variant", secret, "--out", out)
    assert ended.returncode == 0, ended.stderr
    name, _ = variants.drawn(secret)
    return out / name


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(SECRETS[0], tmp_path_factory.mktemp("variants"))


def answered(chapter, one=None, name=""):
    """A chapter's notebook with the public answers, or with those of a variant."""
    (path,) = FOLDER.glob(f"{chapter}_*.ipynb")
    notebook = nbformat.read(path, as_version=4)
    if one:
        variants.varied_page(notebook, one, name)
    elif name:
        notebook.metadata[variants.KEY] = name
    for cell in notebook.cells:
        cell.source = MARKERS.sub("", cell.source)
    return nbformat.writes(notebook)


def test_at_least_twenty_exercises_in_all_chapters_have_a_variant():
    assert len(ALL) >= 20
    assert {name[:2] for name in ALL} == {path.name[:2] for path in FOLDER.glob("*.ipynb")}


def test_the_same_secret_makes_the_same_files_and_no_file_has_it(tmp_path):
    first, second = (build(SECRETS[0], tmp_path / each) for each in ("one", "other"))
    files = [sorted(path for path in folder.rglob("*") if path.is_file()) for folder in (first, second)]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]
    assert not any(SECRETS[0].encode() in path.read_bytes() for path in files[0])
    assert variants.drawn(SECRETS[0])[0] != variants.drawn(SECRETS[1])[0]


def test_a_short_secret_is_refused(tmp_path):
    ended = course("build", "--variant", "short", "--out", tmp_path)
    assert ended.returncode
    assert "at least 16 characters, it has 5" in ended.stderr


def test_a_page_differs_and_has_no_answer(built):
    for exercise_id in ALL:
        (path,) = (built / "exercises").glob(f"{exercise_id[:2]}_*.ipynb")
        public = nbformat.reads(derived_text(FOLDER / path.name), as_version=4)
        mine = nbformat.read(path, as_version=4)
        texts = [{cell.id: cell.source for cell in each.cells}[exercise_id[2:]] for each in (public, mine)]
        assert texts[0] != texts[1], exercise_id
    assert "BEGIN SOLUTION" not in path.read_text(encoding="utf-8")


def test_an_edit_without_its_place_is_refused():
    with pytest.raises(variants.VariantError, match="must stand there once, it does 2 times"):
        variants.edited("a a", [("a", "b")], "01a")
    with pytest.raises(variants.VariantError, match="an edit is"):
        variants.read_variants("[01a] name\npage\n    no arrow")


# In a process that has the variant's exercises: its own answer, the public one, and each mistake that is left.
TRIED = """
import json, sys
sys.path.insert(0, "tests/grading")
from exercise_answers import Answer, checked
from course_lib.grading.exercises import find
from course_lib.grading.exercises.mistakes import function_of, source_of
from course_lib.grading.exercises.sources import program
from course_lib.grading.rehearsal.check import check

def points(exercise, answer):
    names = {"__name__": "__main__"}
    for source in (program(exercise.id)[0], answer):
        exec(compile(source, "<answer>", "exec"), names)
    report = check(exercise.id, names[exercise.function])
    return report.points, " | ".join(map(str, report.findings))

found = {}
for exercise_id, public in json.load(sys.stdin).items():
    exercise = find(exercise_id)
    got, told = points(exercise, public)
    wrong = {"the public answer": got}
    own = points(exercise, source_of(exercise))[0]
    if own != exercise.points:
        wrong["its own answer"] = own
    for mistake in exercise.mistakes:
        got, said = points(exercise, source_of(exercise, mistake))
        if got >= exercise.points or mistake.text.split("{")[0] not in said:
            wrong[mistake.text] = got, said
    found[exercise_id] = [mistake.text for mistake in exercise.mistakes], told, wrong
print("FOUND" + json.dumps(found))
"""


def tried(chosen, folder):
    """Of each of these variants its mistakes, what the public answer is told, and what is not as it should be."""
    pack = folder / "pack.zip"
    pack.write_bytes(variants.varied_pack(chosen, "0" * 12)[0])
    public = {one.exercise_id: program(one.exercise_id)[1] for one in chosen}
    environment = os.environ | {"COURSE_EXERCISES": str(pack)}
    ended = subprocess.run(
        [sys.executable, "-c", TRIED], input=json.dumps(public), text=True, capture_output=True, env=environment,
        check=False, cwd=FOLDER.parent,
    )  # fmt: skip
    assert "FOUND" in ended.stdout, ended.stderr
    return json.loads(ended.stdout.rpartition("FOUND")[2])


def held(chosen, folder):
    for exercise_id, (mistakes, told, wrong) in tried(chosen, folder).items():
        assert wrong == {"the public answer": 0}, exercise_id
        assert len(mistakes) >= 2, exercise_id
        own = set(mistakes) - {mistake.text for mistake in find(exercise_id).mistakes}
        assert any(sentence in told for sentence in own), f"{exercise_id}: what differs here is not told, but {told}"


@pytest.mark.parametrize("exercise_id", ["05c", "10d"])
def test_a_public_answer_gets_nothing_and_its_own_all_and_each_mistake_its_sentence(exercise_id, tmp_path):
    held(ALL[exercise_id][:1], tmp_path)


@pytest.mark.exhaustive
@pytest.mark.timeout(300)
@pytest.mark.parametrize("chapter", sorted({name[:2] for name in ALL}))
def test_so_it_is_with_all_variants(chapter, tmp_path):
    for number in range(max(len(some) for name, some in ALL.items() if name[:2] == chapter)):
        held([some[number] for name, some in ALL.items() if name[:2] == chapter and number < len(some)], tmp_path)


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_a_class_with_public_notebooks_and_two_variants_is_graded_at_once(tmp_path):
    made = {secret: build(secret, tmp_path / "variants").name for secret in SECRETS}
    folder, expected = tmp_path / "class", {}
    folder.mkdir()
    for secret, name in made.items():
        chosen = [one for one in variants.drawn(secret)[1] if one.exercise_id == "03i"]
        (folder / f"own_{name}.ipynb").write_text(answered("03", chosen, name), encoding="utf-8")
        (folder / f"public_{name}.ipynb").write_text(answered("03", name=name), encoding="utf-8")
        expected |= {f"own_{name}": 3, f"public_{name}": 0}
    (folder / "nobody.ipynb").write_text(answered("03"), encoding="utf-8")
    expected["nobody"] = 3
    arguments = ("grade", folder, "--out", tmp_path / "grades", "--exercise", "03i")
    refused = course(*arguments)
    assert refused.returncode
    assert "say with --variants" in refused.stderr.replace("\n", " ")
    ended = course(*arguments, "--variants", tmp_path / "variants")
    assert ended.returncode == 0, ended.stderr
    grades = json.loads((tmp_path / "grades" / "grades.json").read_text(encoding="utf-8"))
    got = {one["student"]: one["points"] for one in grades["submissions"]}
    assert got == expected
    (folder / "stranger.ipynb").write_text(answered("03", name="123456789abc"), encoding="utf-8")
    unknown = course(*arguments, "--variants", tmp_path / "variants")
    assert unknown.returncode
    assert "stranger.ipynb is of variant 123456789abc" in unknown.stderr.replace("\n", " ")
