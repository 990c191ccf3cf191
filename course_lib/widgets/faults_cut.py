"""A save that is cut, played: where the bytes are after each operation, and what a reader finds if all stops there."""

from __future__ import annotations

from typing import NamedTuple

from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Cell, Matrix, Sketch, Table
from course_lib.draw.panels.drawing import FAINT, INK, QUIET, Boxes, Key, Shape, Text
from course_lib.faults import DamagedFileError, seal, unseal

OVER, BESIDE = "a save, over the old file", "a save, beside it, renamed"
ATOMIC = "a save, as the library's"
_WRITING = ("open", "write", "flush, half", "flush, all")
OPERATIONS = {
    OVER: (*_WRITING, "close"),
    BESIDE: (*_WRITING, "rename"),
    ATOMIC: (*_WRITING, "fsync", "rename", "fsync folder"),
}
WAYS = tuple(OPERATIONS)
_OLD, _NEW = (seal(f"step {step}".encode().ljust(100, b".")) for step in (40, 50))
_FINDS = {
    "old": "the old file",
    "new": "the new file",
    "old or new": "the old file or the new one",
    "torn": "a torn file",
    "maybe torn": "perhaps a torn file",
}
_SHADES = {
    "old": "#8db7d9",
    "new": COLORS["green"],
    "old or new": "#7fcdb6",
    "torn": COLORS["vermillion"],
    "maybe torn": COLORS["orange"],
    "not reached": "paper",
}
_TOP, _ROW = 24.0, 30.0
_WIDE = 0.29


class Save(NamedTuple):
    """A save after some of its operations.

    Attributes:
        buffered, given, synced: the share of the new bytes in the process, in the operating system, safe on the disk.
        renamed, named: whether the new file has its name in the operating system, and for certain on the disk.
        opened: whether the old file is emptied.
    """

    way: str
    step: int
    buffered: float
    given: float
    synced: float
    opened: bool
    renamed: bool
    named: bool

    @property
    def after_death(self) -> bytes:
        """The file that a reader finds if the process is killed now: what the operating system has."""
        if self.opened or self.renamed:
            return _NEW[: round(self.given * len(_NEW))]
        return _OLD

    @property
    def after_power_cut(self) -> set[bytes]:
        """The files that a reader may find if the power fails now: of what is not synced, anything may be missing."""
        if not (self.opened or self.renamed):
            return {_OLD}
        least = round(self.synced * len(_NEW))
        written = {_NEW[:share] for share in {least, max(least, round(self.given * len(_NEW) / 2))}}
        written.add(self.after_death)
        return written if self.named else {_OLD, *written}


def save_at(way: str, step: int) -> Save:
    """The save after so many operations."""
    done = OPERATIONS[way][:step]
    return Save(
        way=way,
        step=len(done),
        buffered=1.0 if "write" in done else 0.0,
        given=1.0 if "flush, all" in done else 0.5 if "flush, half" in done else 0.0,
        synced=1.0 if "fsync" in done else 0.0,
        opened=way == OVER and "open" in done,
        renamed="rename" in done,
        named="fsync folder" in done,
    )


def outcomes(way: str) -> list[tuple[str, str, str]]:
    """Each operation of a save, and whether a reader finds a whole file if the process is killed after it, and if the
    power fails after it: "✓" for the old file or the new one, "torn", or "torn?" where it may be either.

    >>> outcomes("a save, beside it, renamed")[-1]
    ('rename', '✓', 'torn?')
    """
    words = {"torn": "torn", "maybe torn": "torn?"}
    rows = []
    for step, operation in enumerate(OPERATIONS[way], start=1):
        save = save_at(way, step)
        found = [_outcome({save.after_death}), _outcome(save.after_power_cut)]
        killed, power = (words.get(each, "✓") for each in found)
        rows.append((operation, killed, power))
    return rows


def cut_pictures(way: str, step: int) -> list[str | Table | Sketch | Matrix]:
    """All that is shown of a save after so many operations."""
    save = save_at(way, step)
    return [describe_cut(save), _facts(save), _places(save), *(_found(save, power) for power in (False, True))]


def describe_cut(save: Save) -> str:
    """Where it stands, and what a reader finds."""
    operations = OPERATIONS[save.way]
    done = f"{operations[save.step - 1]} is done" if save.step else "nothing is done yet"
    died = f"killed here, a reader finds {_sentence(save.after_death)}"
    power = f"if the power fails, {_FINDS[_outcome(save.after_power_cut)]}"
    return f"Step {save.step} of {len(operations)}: {done}; {died}; {power}."


def _sentence(content: bytes) -> str:
    """What reading it gives, by the library's own check."""
    try:
        return f"{unseal(content, 'the file').decode().rstrip('.')}"
    except DamagedFileError as error:
        return f"an error ({error})"


def _outcome(contents: set[bytes]) -> str:
    """One of the shades."""
    words = {"old" if each == _OLD else "new" if each == _NEW else "torn" for each in contents}
    if "torn" in words:
        return "torn" if len(words) == 1 else "maybe torn"
    return " or ".join(sorted(words, reverse=True))


def _facts(save: Save) -> Table:
    steps = [save_at(save.way, step) for step in range(len(OPERATIONS[save.way]) + 1)]
    never = {"killed": [{each.after_death} for each in steps], "power": [each.after_power_cut for each in steps]}
    torn = {name: sum("torn" in _outcome(each) for each in found) for name, found in never.items()}
    facts = {
        "killed": f"torn at {torn['killed']} of {len(steps)} moments",
        "power fails": f"perhaps torn at {torn['power']} of {len(steps)}",
        "a file": f"{len(_NEW)} bytes: length, hash, content",
    }
    return Table(facts, "computed")


_Files = list[tuple[str, bool, float]]  # name, whether it is the old file, the share of new bytes in it


def _holds(save: Save) -> dict[str, _Files]:
    """What each place has; of the disk, what is certain. On a phone there is no room for the whole name."""
    gone = save.opened or save.renamed
    unfinished = save.way != OVER and save.step > 0 and not save.renamed
    system: _Files = [("checkpoint", not gone, save.given if gone else 0.0)]
    system += [(".tmp", False, save.given)] if unfinished else []
    old_is_sure = not save.opened and (not save.renamed or save.synced > 0) and not save.named
    disk: _Files = [("checkpoint", old_is_sure, save.synced if save.named else 0.0)]
    disk += [(".tmp", False, save.synced)] if save.synced and not save.named else []
    buffer = max(save.buffered - save.given, 0.0)
    return {"process": [("buffer", False, buffer)], "system": system, "disk, synced": disk}


def _places(save: Save) -> Sketch:
    """The process, the operating system and the disk, each with its files."""
    shapes: list[Shape] = []
    for number, (name, files) in enumerate(_holds(save).items()):
        left = number / 3
        shapes.append(Text(left + _WIDE / 2, 8, name, bold=True))
        for row, (file, old, share) in enumerate(files):
            top = _TOP + row * 2 * _ROW
            shapes += [Text(left, top + 8, file, "start", FAINT), *_file((left, top + 18), old, share)]
    return Sketch(
        title=f"{save.way.capitalize()}: step {save.step} of {len(OPERATIONS[save.way])}",
        origin="computed",
        label=describe_cut(save),
        wide=True,
        shapes=shapes,
        height_px=_TOP + 4 * _ROW + 4,
        keys=[Key("old bytes", _SHADES["old"]), Key("new bytes", _SHADES["new"]), Key("none", QUIET)],
    )


def _file(place: tuple[float, float], old: bool, share: float) -> list[Shape]:
    """A file as a bar that new bytes fill."""
    left, top = place
    shapes: list[Shape] = [Boxes([(left, top, _WIDE, 18.0)], _SHADES["old"] if old else QUIET)]
    return [*shapes, Boxes([(left, top, share * _WIDE, 18.0)], _SHADES["new"])] if share and not old else shapes


def _found(save: Save, power: bool) -> Matrix:
    """What a reader finds, by way and operation, as far as it has been played."""
    longest = max(map(len, OPERATIONS.values()))
    cells = []
    for way in WAYS:
        row = []
        for step in range(longest + 1):
            at = save_at(way, step)
            known = step <= save.step and step <= len(OPERATIONS[way])
            shade = _outcome(at.after_power_cut if power else {at.after_death}) if known else "not reached"
            row.append(Cell(_SHADES[shade], now=known and way == save.way and step == save.step))
        cells.append(row)
    here = _outcome(save.after_power_cut if power else {save.after_death})
    return Matrix(
        title="If the power fails there" if power else "If the process is killed there",
        origin="computed",
        label=f"{save.way}, after step {save.step}: {here}",
        cells=cells,
        row_names=[way.removeprefix("a save, ").removeprefix("as ").split(",")[0] for way in WAYS],
        column_names=[str(step) for step in range(longest + 1)],
        across="operations done",
        outline=INK,
        keys=[Key(name, color) for name, color in _SHADES.items() if name != "not reached"],
    )
