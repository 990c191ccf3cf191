"""The log: whatever the moment of death, what was kept is there, whole and once."""

import contextlib
import errno
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from course_lib.parameter_server import Message, Sgd
from course_lib.parameter_server.fault_tolerance import (
    Durable,
    IdempotentServer,
    MemberProcesses,
    WriteAheadLog,
    recover,
)
from course_lib.parameter_server.fault_tolerance import write_ahead_log as log_module
from course_lib.parameter_server.fault_tolerance.write_ahead_log import pack_record, unpack_records

RECORDS = [b"", b"one", b"two" * 100, bytes(range(256))]


class KilledError(BaseException):
    """Stands for kill -9 at this very step."""


@pytest.fixture
def opened() -> Iterator[Callable[..., WriteAheadLog]]:
    """Open logs that are closed when the test ends."""
    logs: list[WriteAheadLog] = []

    def open_log(*args, **kwargs) -> WriteAheadLog:
        logs.append(WriteAheadLog(*args, **kwargs))
        return logs[-1]

    yield open_log
    for log in logs:
        log.close()


def look(folder: Path) -> WriteAheadLog:
    return WriteAheadLog(folder, read_only=True)


def history(log: WriteAheadLog) -> list[bytes]:
    """All that was ever appended, where states are lists of records joined by a comma."""
    before = [] if log.state is None else log.state.split(b",")
    return [*before, *log.records]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "lock")


def test_a_state_takes_the_place_of_the_records_before_it(tmp_path, opened):
    log = opened(tmp_path)
    assert (log.state, log.records) == (None, [])
    log.append(b"a")
    assert files(tmp_path) == ["log-000000"]
    log.keep(b"a")
    log.append(b"b")
    assert files(tmp_path) == ["log-000001", "state-000001"]
    assert (look(tmp_path).state, look(tmp_path).records) == (b"a", [b"b"])


def test_a_log_cut_at_any_byte_holds_the_whole_records_before_the_cut():
    log = b"".join(map(pack_record, RECORDS))
    ends = [len(b"".join(map(pack_record, RECORDS[:count]))) for count in range(len(RECORDS) + 1)]
    for cut in range(len(log) + 1):
        whole = sum(end <= cut for end in ends) - 1
        assert unpack_records(log[:cut]) == (RECORDS[:whole], ends[whole])


def test_what_is_written_after_a_torn_record_can_be_read(tmp_path, opened):
    log = opened(tmp_path)
    for record in RECORDS:
        log.append(record)
    log.close()
    log = tmp_path / "log-000000"
    log.write_bytes(log.read_bytes()[:-5])
    left = len(pack_record(RECORDS[-1])) - 5
    with pytest.warns(UserWarning, match=f"log-000000: the last record is torn and dropped, {left} bytes"):
        successor = opened(tmp_path)
    assert successor.records == RECORDS[:-1]
    assert successor.torn_bytes == left
    successor.append(b"after")
    assert look(tmp_path).records == [*RECORDS[:-1], b"after"]


def test_zeros_in_place_of_the_last_blocks_are_a_torn_record():
    first, second = pack_record(b"first" * 50), pack_record(os.urandom(2000))
    log = first + second
    for kept in (
        len(first),
        len(first) + 3,
        512,
        1024,
        1536,
        2048,
    ):  # written before the power failed; all ends in zeros
        whole = (log[:kept] + bytes(len(log) + 700))[: len(log) if kept % 512 == 0 else None]
        assert unpack_records(whole) == ([b"first" * 50], len(first))
    assert unpack_records(log + bytes(4096)) == ([b"first" * 50, second[12:]], len(log))


def test_zeros_before_another_record_are_damage():
    first, second, third = pack_record(bytes(range(256)) * 8), pack_record(b"second"), pack_record(b"third")
    for begin in (0, 512, 1024):
        damaged = first[:begin] + bytes(len(first) - begin) + second + third
        with pytest.raises(ValueError, match="record 0 is damaged"):
            unpack_records(damaged)


def test_what_is_not_the_logs_stays_whatever_it_is_called(tmp_path, opened):
    for name in ("thesis.txt", "state-old1", "log-000001.txt", "state-1", "unfinished"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "log-folder").mkdir()
    before = files(tmp_path)
    log = opened(tmp_path)
    log.append(b"a")
    for state in (b"a", b"b"):
        log.keep(state)
    (tmp_path / "state-000002.0f3a.tmp").write_bytes(b"what a killed owner leaves")
    log.close()
    assert opened(tmp_path).state == b"b"
    assert files(tmp_path) == sorted([*before, "log-000002", "state-000002"])


def test_a_log_has_one_owner_at_a_time_and_the_next_one_when_it_ends(tmp_path, opened, monkeypatch):
    monkeypatch.setattr(log_module, "_PATIENCE_S", 0.1)
    log = opened(tmp_path)
    log.append(b"a")
    with pytest.raises(RuntimeError, match="has an owner already: close that log, or take another folder"):
        opened(tmp_path)
    assert look(tmp_path).records == [b"a"]
    log.append(b"b")
    log.close()
    log.close()
    assert opened(tmp_path).records == [b"a", b"b"]


def test_a_damaged_log_is_not_owned_by_who_could_not_read_it(tmp_path, opened):
    (tmp_path / "log-000000").write_bytes(b"x" * 40)
    for _ in range(2):
        with pytest.raises(ValueError, match="log-000000: record 0 is damaged"):
            opened(tmp_path)


@pytest.mark.parametrize("fails", ["write", "fsync"])
def test_a_record_whose_append_failed_is_not_in_the_log_and_the_next_one_is(tmp_path, monkeypatch, opened, fails):
    log = opened(tmp_path, fsync=True)
    log.append(b"a")

    class FullDisk(io.FileIO):
        """Takes five bytes, then no more."""

        def write(self, content):
            if self.full and len(content) < 17:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(content[:5] if self.full else content)

    disk = FullDisk(tmp_path / "log-000000", "ab")
    disk.full = fails == "write"
    log._log.close()
    log._log = disk
    with monkeypatch.context() as patch, contextlib.ExitStack() as stack:
        if fails == "fsync":
            patch.setattr(os, "fsync", lambda _: os.open("/nowhere/at/all", 0))
        stack.enter_context(pytest.raises(OSError, match=r"No space|No such file"))
        log.append(b"12345")
    disk.full = False
    log.append(b"b")
    assert look(tmp_path).records == [b"a", b"b"]


def test_a_state_that_cannot_be_written_leaves_the_log_as_it_was(tmp_path, monkeypatch, opened):
    log = opened(tmp_path)
    log.append(b"a")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(log_module, "write_atomically", full)
        for _ in range(2):
            with pytest.raises(OSError, match="No space"):
                log.keep(b"a")
    log.append(b"b")
    assert history(look(tmp_path)) == [b"a", b"b"]
    log.keep(b"a,b")
    log.append(b"c")
    assert history(look(tmp_path)) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("bit", [1, 128])
def test_any_single_damaged_byte_is_refused_and_no_record_is_skipped(bit):
    first, second = pack_record(b"first"), pack_record(b"second")
    for position in range(len(first + second)):
        damaged = bytearray(first + second)
        damaged[position] ^= bit
        with pytest.raises(ValueError, match=f"record {int(position >= len(first))} is damaged"):
            unpack_records(bytes(damaged))


def test_damage_in_a_log_or_in_a_state_is_refused_and_its_file_named(tmp_path, opened):
    log = opened(tmp_path)
    log.keep(b"state")
    log.append(b"first")
    log.append(b"second")
    for name in ("log-000001", "state-000001"):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[:12] + b"X" + content[13:])
        with pytest.raises(ValueError, match=f"{name}: record 0 is damaged"):
            look(tmp_path)
        (tmp_path / name).write_bytes(content)
    state = tmp_path / "state-000001"
    state.write_bytes(state.read_bytes()[:-1])
    with pytest.raises(ValueError, match="state-000001: a state must be one record, got 0 whole ones"):
        look(tmp_path)


def steps_of_keeping(monkeypatch, killed_at: int) -> list[str]:
    """Let every step of the file system that `keep` takes be counted, and the one of this number be the last."""
    taken: list[str] = []

    def counted(owner: object, name: str) -> None:
        original = getattr(owner, name)

        def step(*args, **kwargs):
            taken.append(name)
            if len(taken) > killed_at:
                raise KilledError
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, step)

    for name in ("open", "replace", "unlink", "iterdir"):
        counted(Path, name)
    counted(log_module, "pack_record")
    return taken


def test_whoever_is_killed_while_a_state_is_kept_finds_everything(tmp_path, monkeypatch, opened):
    killed_at = 0
    while True:
        folder = tmp_path / str(killed_at)
        log = opened(folder)
        log.append(b"a")
        log.keep(b"a")
        log.append(b"b")
        log.append(b"c")
        with monkeypatch.context() as patch:
            taken = steps_of_keeping(patch, killed_at)
            try:
                log.keep(b"a,b,c")
                break
            except KilledError:
                pass
        log.close()
        found = opened(folder)
        assert history(found) == [b"a", b"b", b"c"], taken
        found.append(b"d")
        assert history(look(folder)) == [b"a", b"b", b"c", b"d"], taken
        assert len(files(folder)) == 2
        killed_at += 1
    assert taken == ["open", "pack_record", "replace", "iterdir", "unlink", "unlink"]


def test_somebody_who_only_looks_changes_nothing(tmp_path, opened):
    opened(tmp_path).append(b"whole")
    (tmp_path / "unfinished").write_bytes(b"half a st")
    with (tmp_path / "log-000000").open("ab") as log:
        log.write(b"torn")
    before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    assert look(tmp_path).records == [b"whole"]
    assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == before


def test_the_disk_is_asked_only_by_those_who_fear_for_their_power(tmp_path, monkeypatch, opened):
    asked: list[int] = []
    monkeypatch.setattr(os, "fsync", asked.append)
    # The log's name and its folder's, two records, the state's content, the names of state and log.
    for fsync, times in ((False, 0), (True, 6)):
        log = opened(tmp_path / str(fsync), fsync=fsync)
        log.append(b"a")
        log.append(b"b")
        log.keep(b"a,b")
        assert len(asked) == times


def test_an_actor_comes_back_from_its_messages_and_from_its_states(tmp_path, opened):
    def make() -> IdempotentServer:
        return IdempotentServer(0, torch.zeros(3), Sgd(-1.0))

    actor = Durable(make(), opened(tmp_path), keep_every=4)
    for number in range(10):
        payload = torch.full((3,), float(number))
        actor.handle(Message("push", sender=5, clock=number + 1, number=number, payload=payload))
        again = recover(make, look(tmp_path))
        assert again.parameters.tolist() == [sum(range(number + 1))] * 3
        assert again.version == number + 1
        assert sorted(again.applied) == list(range(number + 1))
        assert len(files(tmp_path)) == 1 + (number >= 3)


def test_a_push_that_is_refused_is_not_in_the_log_and_its_portion_is_still_to_come(tmp_path, opened):
    def make() -> IdempotentServer:
        return IdempotentServer(0, torch.zeros(3), Sgd(-1.0))

    actor = Durable(make(), opened(tmp_path))
    wrong = Message("push", sender=5, clock=1, number=0, payload=torch.ones(2))
    for refused, words in ((wrong, "holds 3 parameters, worker 5 pushed 2"), (Message("ready", 5), "kind 'ready'")):
        with pytest.raises(ValueError, match=words):
            actor.handle(refused)
    actor.handle(Message("push", sender=5, clock=1, number=0, payload=torch.ones(3)))
    for found in (actor.actor, recover(make, look(tmp_path))):
        assert found.parameters.tolist() == [1, 1, 1]
        assert found.applied == {0: 1}


def test_what_a_server_keeps_of_itself_does_not_grow_with_its_pushes(tmp_path, opened):
    actor = Durable(IdempotentServer(0, torch.zeros(3), Sgd(-1.0)), opened(tmp_path), keep_every=50)
    with pytest.raises(ValueError, match="keep_every must be at least 1, got 0"):
        Durable(actor.actor, actor.log, keep_every=0)
    sizes = []
    for clock in range(1, 201):
        actor.handle(Message("push", sender=5, clock=clock, number=clock % 10, payload=torch.ones(3)))
        if clock % 50 == 0:
            sizes.append(len(look(tmp_path).state))
    assert max(sizes) - min(sizes) < 20


def test_what_a_killed_process_was_told_to_be_kept_is_there(tmp_path):
    record = os.urandom(2**20)  # large enough to be torn

    def write_without_end(member, folder):
        log = WriteAheadLog(folder)
        number = log.length
        while True:
            log.append(record)
            number += 1
            member.tell(number)

    acknowledged = 0
    with MemberProcesses() as cluster:
        for _ in range(4):
            cluster.start(0, write_without_end, tmp_path)
            goal = acknowledged + 5
            while acknowledged < goal:
                for _rank, number in cluster.listen(30.0):
                    acknowledged = number
            cluster.kill(0)
            found = look(tmp_path)
            assert set(found.records) == {record}
            assert len(found.records) >= acknowledged
            acknowledged = len(found.records)
