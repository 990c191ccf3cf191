"""Tokenizer of logs and sentences, for `course symptoms` and the search box of the book.

The patterns mean the same in Python (with `re.ASCII`) and in a browser, which gets them as they stand here.
"""

from __future__ import annotations

import re
from itertools import pairwise

Words = tuple[str, ...]
PATTERNS = {
    "noise": r"https?://\S+|0x[0-9a-f]+|\[?rank ?\d+\]?:|(?:[\w.~-]*/){2,}|\x1b\[[\d;]*m",
    "divides": r"\bassert\b[^\n]{0,300}?%\s*[a-z_][\w.()]*\s*==\s*0\b",
    "word": r"(?:exit|return|exit_)?(?:code|signal)\s*[:=]?\s*-?\d+|size\s?\(?\[?0(?![\d.])|[a-z]{2,}",
    "tells": r"error|exception|warn|fatal|critical|abort|assert|fail|killed|signal|time[d ]?out",
    "log": r"^\s*\[?rank ?\d+\]?:",
    "note": r"^.*NCCL INFO|^\s*#\d+ |frame #\d+|\w ?\.{4,} |config\.py:\d+:print\]",
    "frame": r'^\s*(?:\[?rank ?\d+\]?:)?\s*File "',
    "plain": r"^[(\"'`]?[a-z][a-z'/-]*[.,;:!?)\"'`]*$",
    "ending": r"([a-z]{3})(?:ing|ed|es|er|ly|s|e)$",
    "timed_out": r"collective (?:operation )?time-?out|time-?out at nccl|detected by watchdog"
    r"|watchdog (?:got stuck|thread terminated|time-?out)|nccl(?: \w+){0,4} time[d -]{0,2}out",
}
_MANY = r"\b(?:multi(?:ple)?|several|two|both|four|eight|more|[2-9]|\d\d+)[- ]*(?:x )?"
_NODES = r"(?:nodes?|machines?|servers?|hosts?)\b"
PHRASES = {  # words that say more together
    "acrossnodes": rf"{_MANY}{_NODES}|\b(?:across|between) {_NODES}",
    "gpus": rf"{_MANY}(?:gpus?|cards?|devices?)\b",
    "onegpu": r"\b(?:single|one|1)[- ]*(?:gpu|card|device)\b",
    "rankzero": r"\b(?:gpu|rank|card)[- :#]*0\b|\b(?:first|main|master)[- ](?:gpu|rank|device|card|process)\b",
    "hostmemory": r"\b(?:cpu|host|system|main)[- ]*(?:mem(?:ory)?|ram)\b|\bram\b",
    "newversion": r"\b(?:up|down)(?:grad|dat)\w* .{0,30}\d\.\d|\b(?:after|since) (?:\w+ ){0,3}(?:up|down)(?:grad|dat)",
    "loaderworkers": r"num_workers?|loaders?'?s?[- ]workers?",
}
LAST_LINES = 20
_NOISE, _DIVIDES, _WORD, _TELLS, _LOG, _NOTE, _FRAME, _PLAIN, _ENDING, _TIMED_OUT = (
    re.compile(each, re.I | re.A) for each in PATTERNS.values()
)
_PHRASES = {name: re.compile(pattern, re.I | re.A) for name, pattern in PHRASES.items()}
_RUN = re.compile(r"([\w.~-]{200})[\w.~-]+ ?", re.A)
_SPACES = re.compile(r"([^\S\r\n]{200})[^\S\r\n]+")
_EVERYDAY = """
    about after again all also always am an and any are as at be because been before but by can code could did do does
    doing done each even every few first for from get gets getting give gives got had has have he here how if in into is
    it its just like make makes many may me more most much my need new no not now of off on only or other our out over
    problem same see seems set should show so some still take takes than that the their them then there they this to too
    train training try trying until up use used uses using very want was way we well were what when where which while
    who why will with without would you your issue question help please run running runs happens error errors pytorch
"""
_ONE_MEANING = """
    hang freeze stuck stall block deadlock wait halt frozen
    node machine server host computer instance
    gpu gpus device card accelerator graphics
    rank process worker replica
    slow slower speed fast faster throughput speedup slowdown
    multi multiple several two both
    single one
    accuracy performance metric score quality result
    epoch epochs
    checkpoint ckpt save saving
    memory oom ram vram
    parameter weight param
    differ different mismatch difference inconsistent
    lower less worse drop degrade decrease reduce degradation
    grow increase higher climb rise
    start begin init initialize launch initialization
    resume restart continue
    ddp distributeddataparallel
    load loader dataloader
    shard sharding
    util utilization utilized usage
    separate independent individual alone
"""


def words_of(text: str) -> Words:
    """Words without addresses, folders, ranks and numbers; those of a signal, an exit code and of nothing stay.

    >>> words_of('[rank3]: RuntimeError at 0x7f3a in /opt/lib/c10d.cpp:1275 (exitcode: -9)')
    ('runtimeerror', 'at', 'in', 'cpp', 'signal-9')
    >>> words_of("exit code 137; return code = 247; exitcode: 1")
    ('exit', 'signal-9', 'return', 'signal-9', 'code1')
    >>> words_of('the shape in the file is torch.Size([0]), not torch.Size([64, 3])')
    ('the', 'shape', 'in', 'the', 'file', 'is', 'torch', 'size0', 'not', 'torch', 'size')
    >>> words_of("assert heads % world_size == 0")
    ('assert', 'divisible', 'by')
    """
    text = _DIVIDES.sub(" assert divisible by ", _NOISE.sub(" ", text)).lower()
    return tuple(word if word.isalpha() else _one_code(word) for word in _WORD.findall(text))


def _one_code(word: str) -> str:
    """An exit code as a signal's number, however it was written: -9, 128 + 9 and 256 - 9 are signal 9."""
    word = re.sub(r"[\s:=([]", "", word)
    found = re.fullmatch(r"[a-z_]*?(code|signal)(-?\d+)", word)
    if not found:
        return word
    number = int(found[2])
    signals = {"signal": number}.get(found[1], -number if number < 0 else number - 128 if number > 128 else 0)
    signals = 256 - number if 240 < number < 255 else signals
    return f"signal-{signals}" if 0 < signals <= 64 else f"code{number}"


def lines_of(text: str) -> list[str]:
    """The lines that have anything. Of what goes on for long without a space, as data in letters does, and of spaces
    the beginning is enough: the patterns' time grows with the square of such a run.

    >>> [len(line) for line in lines_of("x" * 1_000_000 + " killed")]
    [207]
    """
    short = _SPACES.sub(r"\1", _RUN.sub(r"\1 ", text))
    return [line for line in re.split(r"\r\n|\r|\n", short) if line.strip()]


def weight_of(line: str, left: int, *, frames: bool = False) -> float:
    """Twice for a line that tells of an error, half as much again among the last ones; little for a note or a frame.

    With `frames` a frame is a line as others: where a traceback ends before its error, they are all that it tells.
    """
    if _NOTE.search(line) or (_FRAME.search(line) and not frames):
        return 0.3
    return (2.0 if _TELLS.search(line) else 1.0) * (1.5 if left < LAST_LINES else 1.0)


def tells_of_an_error(line: str) -> bool:
    """Whether the line speaks of an error, and is neither a note nor a frame."""
    return bool(_TELLS.search(line)) and not _NOTE.search(line) and not _FRAME.search(line)


def timed_out(line: str) -> bool:
    """Whether the line says that a collective of NCCL waited until its time was over.

    >>> timed_out("[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE)")
    True
    >>> timed_out("NCCL timeout"), timed_out("NCCL communicator: store->get('0') got error: wait timeout after 600 s")
    (True, False)
    """
    return bool(_TIMED_OUT.search(line))


def is_sentence(line: str) -> bool:
    """Whether a person wrote this line, and not a program: most of it is plain words.

    >>> is_sentence("It hangs at the end, on 2 GPUs."), is_sentence("[W socket.cpp:436] [c10d] retrying :29500")
    (True, False)
    """
    words = line.split()
    program = _LOG.search(line) or _NOTE.search(line) or _FRAME.search(line)
    return not program and len(words) > 1 and sum(map(bool, map(_PLAIN.match, words))) >= 0.6 * len(words)


def stem(word: str) -> str:
    """The stem of a word: without its ending.

    >>> [stem(word) for word in ("freezes", "freezing", "stopped", "memories", "memory")]
    ['freez', 'freez', 'stop', 'memori', 'memori']
    """
    return re.sub(r"(.)\1$", r"\1", re.sub("y$", "i", _ENDING.sub(r"\1", word)))


STOP = frozenset(_EVERYDAY.split())
_OF_A_KIND = {
    "It hangs": "hang",
    "It is slow": "slow util",
    "Memory": "memory",
    "Saving and resuming": "checkpoint resume load",
}
CONCEPT = {stem(word): stem(line.split()[0]) for line in _ONE_MEANING.strip().splitlines() for word in line.split()}
KINDS = {
    table: frozenset(CONCEPT.get(stem(word), stem(word)) for word in words.split())
    for table, words in _OF_A_KIND.items()
}  # what somebody says who means a row of this table


def concepts(text: str) -> frozenset[str]:
    """Stems without stop words; synonyms count as one, and known phrases have a name.

    >>> sorted(concepts("It freezes on 2 nodes, not on one GPU."))
    ['acrossnodes', 'gpu', 'hang', 'nod', 'onegpu', 'singl']
    """
    stems = map(stem, set(words_of(text)).difference(STOP))
    phrases = (name for name, phrase in _PHRASES.items() if phrase.search(text))
    return frozenset({CONCEPT.get(each, each) for each in stems}.union(phrases))


def pairs_of(words: Words) -> list[Words]:
    """Each word with the next."""
    return list(pairwise(words))
