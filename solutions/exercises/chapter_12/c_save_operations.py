"""Exercise 12c: the operations of a save that may be stopped after any of them."""

from functools import partial

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import function_exercise

ARGUMENTS = {"write": 1, "sync": 1, "rename": 2, "delete": 1, "sync folder": 0}
MAX = 20  # operations that are looked at


def folders(rng):
    """A version that is replaced, one that is the first, and what an earlier death has left."""
    one, other = (f"{name}-{rng.integers(10, 10**6)}" for name in ("model", "best"))
    calls = [([one, other], one), ([other], one), ([one, f"{one}.tmp", other], one), ([], other)]
    yield Case(1, calls, [partial(_fault, *call) for call in calls], label="four folders, stopped after each operation")


class Disk:
    """A folder as it is in memory, and all that the disk may have of it when the power fails.

    Attributes:
        born: for each file (a number) the name under which it was made.
        content: for each file what the disk may hold of it: "whole new", "part", "nothing", or "whole NAME" of before.
        names: the folder since it was last synced, after each change of it; the newest is what programs see.
    """

    def __init__(self, names):
        self.born = list(names)
        self.content = [{f"whole {name}"} for name in names]
        self.names = [{name: file for file, name in enumerate(names)}]

    def does(self, operation, *names):
        """Carry out an operation; what is wrong with it, if it cannot be done."""
        now = self.names[-1]
        if operation != "write" and names and names[0] not in now:
            return f"there is no file {names[0]!r} at that moment"
        if operation == "write":
            if names[0] not in now:
                self.names.append(now := {**now, names[0]: len(self.born)})
                self.born.append(names[0])
                self.content.append(set())
            self.content[now[names[0]]] |= {"nothing", "part", "whole new"}
        elif operation == "sync":
            whole = self.content[now[names[0]]]
            self.content[now[names[0]]] = {"whole new"} if "whole new" in whole else whole
        elif operation == "sync folder":
            self.names = [now]
        else:  # a rename or a deletion
            kept = {name: file for name, file in now.items() if name != names[0]}
            self.names.append(kept | dict.fromkeys(names[1:], now[names[0]]))
        return None


def _fault(files, name, operations):
    """What is wrong with these operations: where the power may fail, and what is on the disk then."""
    if not isinstance(operations, (list, tuple)):
        kind = getattr(operations, "type_name", type(operations).__name__)
        return "gave no list of operations" + f", but a {kind}: return a list" * (operations is not None)
    if not operations:
        return "has no operations: nothing is saved"
    if len(operations) > MAX:
        return f"has {len(operations)} operations; four are enough"
    disk, synced = Disk(files), False
    for number, operation in enumerate(operations, 1):
        words = list(operation) if isinstance(operation, (list, tuple)) else [operation]
        if not words or ARGUMENTS.get(words[0]) != len(words) - 1 or not all(isinstance(each, str) for each in words):
            return f"has {operation!r}, which is none of the five operations"
        wrong = disk.does(*words)
        if wrong:
            return f"stumbles in operation {number}, {words}: {wrong}"
        synced |= words == ["sync folder"]
        lost = next(filter(None, (_lost(disk, names, files, name) for names in disk.names)), None)
        if lost:
            return f"is not safe: the power fails after operation {number}, {words}, and {lost}"
    return _unfinished(disk, files, name, synced)


def _lost(disk, names, files, name):
    """What is missing if the disk has these names."""
    for other in files:
        mine = other == name or other.endswith(".tmp")
        if not mine and (other not in names or disk.content[names[other]] != {f"whole {other}"}):
            return f"{other!r}, which is another file, may be lost"
    if name not in names:
        return f"the disk has no {name!r}. A rename replaces what is there in one go" if name in files else None
    if disk.content[names[name]] <= {"whole new", f"whole {name}"}:
        return None
    if disk.born[names[name]] == name:
        return f"{name!r} is neither the old version nor the new one. Write the new one under another name"
    return f"{name!r} may be empty: a name can be on the disk before its content. Sync the file before it gets the name"


def _unfinished(disk, files, name, synced):
    for names in disk.names:
        if name not in names or disk.content[names[name]] != {"whole new"}:
            late = "A rename came after the folder's sync" if synced else "A new name needs a sync of the folder"
            return f"has ended, the power fails, and the disk may not have the new {name!r}. {late}"
    left = sorted(set(disk.names[-1]) - {*files, name})
    return f"leaves {left[0]!r} in the folder" if left else None


MISTAKES = r"""
... replaces what is there in one go
    ["rename", beside, name] -> ["delete", name], ["rename", beside, name]
or
    ["rename", beside, name] -> ["rename", name, name + ".old"], ["rename", beside, name]
... in the folder
    ["write", beside] -> ["write", name + ".old"], ["sync", name + ".old"], ["write", beside]
... may be empty: a name can be on the disk before its content
    ["sync", beside], ->
or
    ["sync", beside], ->
    ["sync folder"] -> ["sync", name], ["sync folder"]
... Write the new one under another name
    return [["write", beside], ["sync", beside], ["rename", beside, name], -> return [["write", name], ["sync", name],
... A new name needs a sync of the folder
    , ["sync folder"] ->
... A rename came after
    ["rename", beside, name], ["sync folder"] -> ["sync folder"], ["rename", beside, name]
"""

EXERCISE = function_exercise(
    __name__,
    cases=folders,
    mistakes=MISTAKES,
    hints="""
The old version must stay whole until the new one is: so the new one is written under another name.
Four operations are enough. Two of them are syncs: of what, and when?
Write the other file, sync it, rename it, sync the folder.
""",
)
