"""A folder that remembers: a state from time to time, and every record since, so that its owner may be killed.

    state-000002     the state after all records of the logs before
    log-000002       the records since, each with its length and its checksum

What `append` has returned from survives `kill -9`: it lies in the kernel's page cache, which outlives the process. Loss
of power is another matter: then only what `fsync` has pushed to the disk is left, so `fsync=True` asks for that after
each record. It is off unless you say so: killing processes, not pulling plugs, is what is tried here, and a record of
2.6 KB took 13 µs without and 5 ms with it (measured on one machine, 2 cores, ext4).

Source: C. Mohan et al., "ARIES", ACM TODS 17(1), 1992 (write-ahead logging).
"""

from __future__ import annotations

import os
import struct
import warnings
import zlib
from pathlib import Path

__all__ = ["WriteAheadLog", "pack_record", "unpack_records"]

_HEAD = struct.Struct("<II")  # length and checksum of the content
_CHECKSUM = struct.Struct("<I")  # of the head: a wrong length would make all that follows look like one torn record
_HEAD_BYTES = _HEAD.size + _CHECKSUM.size


def pack_record(content: bytes) -> bytes:
    """The content with a head of 12 bytes in front: its length, its checksum, and the checksum of these two."""
    head = _HEAD.pack(len(content), zlib.crc32(content))
    return head + _CHECKSUM.pack(zlib.crc32(head)) + content


def unpack_records(data: bytes) -> tuple[list[bytes], int]:
    """The whole records that `data` begins with, and how many bytes they take; a torn one at the end is left out.

    A process that is killed while it writes leaves the beginning of a record. It was never acknowledged.

    Raises:
        ValueError: if a record is damaged and not just torn: it was acknowledged, and so were those after it.

    >>> log = pack_record(b"one") + pack_record(b"two")
    >>> unpack_records(log)
    ([b'one', b'two'], 30)
    >>> unpack_records(log[:-1])
    ([b'one'], 15)
    """
    records: list[bytes] = []
    done = 0
    while done + _HEAD_BYTES <= len(data):
        length, checksum = _HEAD.unpack_from(data, done)
        [head_checksum] = _CHECKSUM.unpack_from(data, done + _HEAD.size)
        end = done + _HEAD_BYTES + length
        content = data[done + _HEAD_BYTES : end]
        head_is_whole = zlib.crc32(data[done : done + _HEAD.size]) == head_checksum
        if head_is_whole and end > len(data):
            break
        if not head_is_whole or zlib.crc32(content) != checksum:
            raise ValueError(f"record {len(records)} is damaged, {done} bytes after the beginning")
        records.append(content)
        done = end
    return records, done


class WriteAheadLog:
    """States and records of one owner in `folder`, which is made if it is not there.

    `state` is the last one kept (None: none yet) and `records` those since, as they were found when it was opened.
    What a killed owner left unfinished is cleared away. A torn record at the log's end is counted in `torn_bytes` and
    warned of: nobody can tell whether it was cut while it was written, or acknowledged first and damaged afterwards.

    Args:
        fsync: also survive a loss of power.
        read_only: look, and leave all as it is, for somebody who is not the owner.

    Raises:
        ValueError: if a file is damaged, naming it: what was acknowledged is not there any more.
    """

    def __init__(self, folder: Path | str, *, fsync: bool = False, read_only: bool = False) -> None:
        self.folder, self.fsync = Path(folder), fsync
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = [int(path.name.removeprefix("state-")) for path in self.folder.glob("state-*[0-9]")]
        self._number = max(kept, default=0)
        self.state = self._read_state() if self._number else None
        self.records, self.torn_bytes = _read(self._log_path()) if self._log_path().exists() else ([], 0)
        self.length = len(self.records)  # records since the last state
        if not read_only:
            self._clear_away()
            self._log = self._log_path().open("ab")
            self._drop_torn()

    def _drop_torn(self) -> None:
        """Cut off a torn record; what comes now would lie behind it, out of reach."""
        if not self.torn_bytes:
            return
        self._log.truncate(self._log.tell() - self.torn_bytes)
        dropped = f"the last record is torn and dropped, {self.torn_bytes} bytes of it were there"
        warnings.warn(f"{self._log_path()}: {dropped}; if it was acknowledged, it is lost", stacklevel=3)

    def append(self, record: bytes) -> None:
        """Keep a record; when this returns, it survives its owner."""
        self._log.write(pack_record(record))
        self._log.flush()
        if self.fsync:
            os.fsync(self._log.fileno())
        self.length += 1

    def keep(self, state: bytes) -> None:
        """Keep a state in place of all that was kept before. Whoever is killed meanwhile finds the old or the new.

        The file gets its name only when it is complete, and renaming is all or nothing.
        """
        self._number += 1
        unfinished = self.folder / "unfinished"
        with unfinished.open("wb") as file:
            file.write(pack_record(state))
            file.flush()
            if self.fsync:
                os.fsync(file.fileno())
        unfinished.replace(self._state_path())
        self._log.close()
        self._log = self._log_path().open("ab")
        self.length = 0
        if self.fsync:
            self._sync_names()
        self._clear_away()

    def close(self) -> None:
        """Close the log's file."""
        self._log.close()

    def _state_path(self) -> Path:
        return self.folder / f"state-{self._number:06}"

    def _log_path(self) -> Path:
        return self.folder / f"log-{self._number:06}"

    def _read_state(self) -> bytes:
        states, torn_bytes = _read(self._state_path())
        if len(states) != 1 or torn_bytes:
            raise ValueError(f"{self._state_path()}: a state must be one record, got {len(states)} whole ones")
        return states[0]

    def _clear_away(self) -> None:
        """Remove what is older than the last state, and what was never finished."""
        for path in self.folder.iterdir():
            if path not in (self._state_path(), self._log_path()):
                path.unlink()

    def _sync_names(self) -> None:
        """Push the folder's list of names to the disk."""
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _read(path: Path) -> tuple[list[bytes], int]:
    """The whole records of a file, and the bytes of a torn one behind them."""
    data = path.read_bytes()
    try:
        records, whole_bytes = unpack_records(data)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return records, len(data) - whole_bytes
