"""Ten walks: how many places, files and lines somebody enters who changes one thing; each is made in a copy, and works.

A walk's edits say what to write and where; `walk_checks` says what must then hold, in the copy. Counted are

- places: stretches of lines that the edits change or add;
- files: those that are changed or new, and those that one reads for it;
- lines: of these files, as they are afterwards; of a notebook those of the cells that are changed or read.

CONTRIBUTING says the same steps in words.
"""

import difflib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cloudpickle
import pytest
import torch

import course_lib
from course_lib import Network, run
from course_lib.cli.new import add_exercise
from tests.walk_checks import CHECKS, MISTAKE, NEW, PAGES, SAID, SYMPTOM, TWICE

ROOT = Path(__file__).parents[1]
MOST_FILES, MOST_LINES = 3, 400
MOST_FILES_OF_A_MESSAGE = 6
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if `entered` were written in a notebook


@dataclass(frozen=True)
class Edit:
    """`old`, which stands once in the file, becomes `new`; without `old` the file is new."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Walk:
    """What one writes and reads.

    Attributes:
        uses: edits that make use of what is new, as the line of a picture that a slider moves: not counted as places.
        reads: files that one reads and does not change; of a notebook a cell, behind a "#".
        command: what makes files in the copy.
        most_places: None where no number of places is promised.
    """

    edits: tuple[Edit, ...] = ()
    uses: tuple[Edit, ...] = ()
    reads: tuple[str, ...] = ()
    command: Callable[[Path], None] | None = None
    most_places: int | None = None


RING = "course_lib/widgets/ring.py"
HIDDEN = '    hidden: int = control(4096, scale, "width", [768, 1024, 2048, 4096, 8192])\n'
LAYERS = '    layers: int = control(1, number, "layers", 1, 96, about="each sends keys and values once")\n'
TENSOR = "from course_lib.widgets.tensor import TensorExplorer\n"
IMPORT_OF_TREE = "from course_lib.widgets.tree import TreeExplorer\n"
TREE = '''"""The tree explorer: how long an all-reduce along a tree takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from course_lib.draw import format_seconds
from course_lib.draw.panels import Line, Lines, axis
from course_lib.widgets.controls import number, seconds_slider
from course_lib.widgets.settings import EVERY, SettingExplorer, control

RANKS = range(2, 65)


@dataclass(frozen=True)
class TreeSetting:
    """All that the controls say."""

    ranks: int = control(8, number, "ranks", 2, 64, book=EVERY)
    latency_s: float = control(5e-6, seconds_slider, "latency", about="of each message")


class TreeExplorer(SettingExplorer):
    """The latency of an all-reduce along a tree: up to the root, and down again."""

    Setting = TreeSetting

    @staticmethod
    def pictures(setting: TreeSetting) -> list[str | Lines]:
        """All that is shown of a setting."""
        seconds = {p: 2 * math.ceil(math.log2(p)) * setting.latency_s for p in RANKS}
        here = setting.ranks, seconds[setting.ranks]
        x, y = axis("ranks", RANKS), axis("time", seconds.values(), "s")
        lines = {"tree": Line(list(seconds), list(seconds.values()))}
        curve = Lines(title="A tree's latency", origin="computed", lines=lines, x=x, y=y, here=here)
        return [f"{setting.ranks} ranks take {format_seconds(here[1])}.", curve]
'''
IDLE = "    return (stages - 1) / (micro_batches + stages - 1)\n"
ENOUGH = '''

def enough_micro_batches(stages: int, bubble: float) -> int:
    """The fewest micro-batches with which GPipe and 1F1B idle at most this share.

    >>> enough_micro_batches(4, 0.2)
    12
    """
    count = 1
    while textbook_bubble(stages, count) > bubble:
        count += 1
    return count
'''
SCHEDULES = "course_lib/pipeline/schedules.py"
BACKWARD = '("B", number) for number in reversed(range(micro_batches))'
HALF = '''

class Half:
    """Two bytes a number: fp16, rounded to nearest.

    >>> half = Half()
    >>> half.decompress(half.compress(torch.tensor([1.0, 0.1])), 2)
    tensor([1.0000, 0.1000])
    """

    def compress(self, row: torch.Tensor) -> torch.Tensor:
        """The numbers, rounded."""
        return pack(row.half())

    def decompress(self, message: torch.Tensor, length: int) -> torch.Tensor:
        """The rounded numbers."""
        return unpack(message, (torch.float16, length))[0].float()
'''
ROWS_SUM = "\n\nclass CompressedAllReduce(KeepsRows):\n"
ROW = (
    f"| {SYMPTOM} since something is printed or logged in each. <!-- loss.item() every iteration, print in the loop "
    "--> | The loop waits for the device wherever it reads a number. | **1.** Leave the line out. **2.** Where does "
    "the profiler wait? | [00 · How many threads](00_more.ipynb#threads) `one_collective_fewer` |\n"
)
WALKS = {
    "slider": Walk(
        (Edit(RING, HIDDEN, HIDDEN + LAYERS),),
        uses=(Edit(RING, "format_bytes(sent)", "format_bytes(setting.layers * sent)"),),
        most_places=1,
    ),
    "explorer": Walk(
        (
            Edit("course_lib/widgets/tree.py", "", TREE),
            Edit(
                "course_lib/widgets/__init__.py",
                TENSOR,
                TENSOR + TENSOR.replace("tensor", "tree").replace("Tensor", "Tree"),
            ),
        ),
        reads=("course_lib/widgets/settings.py",),
    ),
    "function": Walk(
        (
            Edit("course_lib/pipeline/timing.py", IDLE, IDLE + ENOUGH),
            Edit("course_lib/pipeline/__init__.py", "    Timed,\n", "    Timed,\n    enough_micro_batches,\n"),
        ),
        most_places=2,
    ),
    "points": Walk(
        (Edit(PAGES[1], "the way back through g and f | 3 |", "the way back through g and f | 4 |"),), most_places=1
    ),
    "mistake": Walk(
        (
            Edit(
                "solutions/exercises/chapter_05/f_block_traffic.py",
                "Four bytes a number\n",
                f"{TWICE}\n    2 * (data - 1) / data -> (data - 1) / data\nFour bytes a number\n",
            ),
        ),
        reads=(f"{PAGES[1]}#{MISTAKE[2:]}", f"{PAGES[1]}#{MISTAKE[2:]}-answer"),
    ),
    "exercise": Walk(command=lambda root: add_exercise(root, NEW, "halo_columns", "Columns of a halo", 3)),
    "schedule": Walk(
        (
            Edit(SCHEDULES, "backward passes, the last micro-batch first", "backward passes"),
            Edit(SCHEDULES, "['F0', 'F1', 'B1', 'B0']", "['F0', 'F1', 'B0', 'B1']"),
            Edit(SCHEDULES, BACKWARD, '("B", number) for number in range(micro_batches)'),
        ),
    ),
    "compressor": Walk(
        (
            Edit("course_lib/compression/compressors.py", ROWS_SUM, HALF + ROWS_SUM),
            Edit("course_lib/compression/__init__.py", "    Compressor,\n", "    Compressor,\n    Half,\n"),
        ),
    ),
    "symptom": Walk(
        (
            Edit("notebooks/symptoms.md", "\n## Memory\n", f"{ROW}\n## Memory\n"),
            Edit("tests/cli/symptoms_told/it_is_slow.txt", "# All ranks", f"# {SYMPTOM}\n{SAID}\n\n# All ranks"),
        ),
    ),
}


def make(root: Path, edit: Edit) -> None:
    path = root / edit.file
    if not edit.old:
        path.write_text(edit.new, encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    assert text.count(edit.old) == 1, f"{edit.file} must have once {edit.old!r}"
    path.unlink()  # where it is a link, what it leads to stays
    path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")


def texts_of(path: Path) -> dict[str, str]:
    """Return the cells of a notebook by their names; of another file its text by no name; of none nothing."""
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return {"": text}
    return {cell["id"]: "".join(cell["source"]) for cell in json.loads(text)["cells"]}


def stretches(before: str, after: str) -> int:
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return sum(kind != "equal" for kind, *_ in matcher.get_opcodes())


@dataclass(frozen=True)
class Count:
    places: int
    files: frozenset[str]
    lines: int


def counted(walk: Walk, root: Path) -> Count:
    """Make the walk in the copy, and count it."""
    before = written_by(walk, root)
    if walk.command:
        walk.command(root)
    for edit in walk.edits:
        make(root, edit)
    after = written_by(walk, root)
    had = {(file, cell): text for file, texts in before.items() for cell, text in texts.items()}
    new = {(file, cell): text for file, texts in after.items() for cell, text in texts.items()}
    changed = {each for each in new if new[each] != had.get(each)}
    places = sum(stretches(had.get(each, ""), new[each]) for each in changed)
    for edit in walk.uses:
        make(root, edit)
    entered = changed | {(edit.file, "") for edit in walk.uses}
    entered |= {(file, cell) for file, _, cell in (each.partition("#") for each in walk.reads)}
    lines = sum(len(texts_of(root / file)[cell].splitlines()) for file, cell in entered)
    return Count(places, frozenset(file for file, _ in entered), lines)


def written_by(walk: Walk, root: Path) -> dict[str, dict[str, str]]:
    """Return what stands in the files of the edits, and in `solutions/`, where commands write."""
    files = {edit.file for edit in walk.edits}
    if walk.command:
        files |= {str(path.relative_to(root)) for path in (root / "solutions").rglob("*.*") if path.suffix != ".pyc"}
    return {file: texts_of(root / file) for file in files}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Count]]:
    """A copy in which all walks are made, and what each of them counts."""
    root = tmp_path_factory.mktemp("walks")
    for folder in ("course_lib", "solutions/exercises", "solutions/catalogue", "tests/symptoms"):
        shutil.copytree(ROOT / folder, root / folder)  # with what is compiled
    for file in (*PAGES, "tests/notebooks/test_symptoms.py", "tests/cli/test_symptoms_told.py"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, root / file)
    shutil.copytree(ROOT / "tests/cli/symptoms_told", root / "tests/cli/symptoms_told")
    (root / "notebooks").mkdir()
    for path in (ROOT / "notebooks").iterdir():
        (root / "notebooks" / path.name).symlink_to(path)
    return root, {name: counted(walk, root) for name, walk in WALKS.items()}


@pytest.fixture(scope="module")
def raised(made: tuple[Path, dict[str, Count]]) -> dict[str, str]:
    """What each check raises in the copy; nothing where it holds."""
    root, _ = made
    command = [sys.executable, str(ROOT / "tests" / "walk_checks.py"), "results.json"]
    ended = subprocess.run(
        command, cwd=root, env=os.environ | {"PYTHONPATH": str(root)}, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads((root / "results.json").read_text(encoding="utf-8"))


def test_there_are_nine_walks_with_an_end_and_one_that_is_followed() -> None:
    assert WALKS.keys() == CHECKS.keys()
    assert len(WALKS) == 9


@pytest.mark.parametrize("name", WALKS)
def test_what_a_walk_makes_works(name: str, raised: dict[str, str]) -> None:
    assert raised[name] == ""


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_enters_few_files_and_changes_few_places(name: str, made: tuple[Path, dict[str, Count]]) -> None:
    count = made[1][name]
    assert len(count.files) <= MOST_FILES, count
    assert count.lines <= MOST_LINES, count
    assert WALKS[name].most_places in (None, count.places), count


def test_a_walk_leaves_clean_code(made: tuple[Path, dict[str, Count]]) -> None:
    root, counts = made
    files = [file for count in counts.values() for file in count.files if file.endswith(".py")]
    config = ["--config", str(ROOT / "pyproject.toml")]
    for command in (["check", "--quiet"], ["format", "--quiet", "--check"]):
        ended = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *config, *files], cwd=root, capture_output=True, text=True
        )
        assert ended.returncode == 0, ended.stdout


# The tenth walk: a message, from `send` to its record in the trace, under `run`.


def entered(comm):
    """The library's files that a rank enters between the program's line, a send or a receive, and the log's record."""
    library, files, tensor = Path(course_lib.__file__).parent, set(), torch.ones(1)

    def note(frame, event, _):
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(library):
            files.add(file.relative_to(library).as_posix())

    sys.setprofile(note)
    try:
        comm.send(tensor, 1) if comm.rank == 0 else comm.recv(tensor, 0)
    finally:
        sys.setprofile(None)
    return sorted(files)


@pytest.mark.parametrize(
    ("network", "through"), [(None, "log.py"), (Network(latency_s=1e-3), "emulated.py")], ids=["measured", "emulated"]
)
def test_a_message_goes_from_the_programs_line_to_its_record_through_at_most_six_files(network, through):
    for files in run(entered, 2, network=network).results:
        assert {"comm/transport/communicator.py", f"comm/transport/{through}"} <= set(files)
        assert len(files) <= MOST_FILES_OF_A_MESSAGE, files
