"""The object store as a process, under load, killed in mid-epoch, and surely ended."""

import itertools
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from course_lib.comm import Communicator, run
from course_lib.storage import count_epoch, flow_of
from course_lib.storage.object_store import (
    Backoff,
    ObjectStore,
    StoreClient,
    StoreError,
    load,
    process,
    reads,
    summarize,
)

NAMES = [f"{number:03}" for number in range(96)]
OPERATIONS_PER_S = 250


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("objects")
    for name in NAMES:
        (folder / name).write_bytes(name.encode() * 64)
    return folder


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[ObjectStore]:
    with ObjectStore(folder, operations_per_s=OPERATIONS_PER_S, latency_s=0.004, bytes_per_s=1e6) as store:
        yield store


def epoch(comm: Communicator, url: str) -> list[bytes]:
    with StoreClient(url, seed=comm.rank) as client:
        return [client.get(name) for name in NAMES[comm.rank :: comm.world_size]]


def test_littles_law_holds_on_a_measured_run_and_the_rate_is_kept(store: ObjectStore) -> None:
    before = len(store.log())
    runs = {clients: load(store.url, NAMES, clients) for clients in (1, 4)}
    for clients, by_client in runs.items():
        assert [len(tries) for tries in by_client] == [len(NAMES) // clients] * clients
        requests = [each for tries in by_client for each in tries]
        assert {each.status for each in requests} == {200}
        # In whole nanoseconds, the law is exact.
        flow = flow_of([(each.began_ns, each.ended_ns) for each in requests])
        window_ns = max(each.ended_ns for each in requests) - min(each.began_ns for each in requests)
        assert round(flow.in_flight * window_ns) == sum(each.ended_ns - each.began_ns for each in requests)
        summary = summarize(requests)
        assert summary.in_flight == pytest.approx(summary.per_s * summary.mean_s)
        assert summary.in_flight <= clients
        # An emulated operation is never early, so no machine is too fast for this.
        assert summary.per_s <= OPERATIONS_PER_S
        assert min(each.ended_ns - each.began_ns for each in requests) >= 1e9 * (1 / OPERATIONS_PER_S + 0.004)
    log = store.log()[before:]
    assert Counter(each.name for each in log) == dict.fromkeys(NAMES, len(runs))
    assert sum(each.sent_bytes for each in log) == len(runs) * len(NAMES) * 192


def test_no_sample_is_lost_or_doubled_when_the_server_is_killed_and_restarted(store: ObjectStore) -> None:
    with store.killed_after(len(store.log()) + 10):
        seen = run(epoch, 3, args=(store.url,)).results
    assert store.kills == 1
    samples = [sample.decode() for of_rank in seen for sample in of_rank]
    assert count_epoch([name * 64 for name in NAMES], samples).exactly_once


def test_a_client_meets_an_outage_by_trying_again_and_without_tries_it_fails(folder: Path) -> None:
    with ObjectStore(folder) as store:
        with StoreClient(store.url, sleep=lambda _: store.start()) as client:
            assert client.get("007") == b"007" * 64
            store.kill()
            assert client.get("008") == b"008" * 64  # its first wait is the restart
            store.kill()
        assert [each.status for each in client.tries[:2]] == [200, "cut off"]
        assert [len(reads(client.tries)), store.kills, len(store.log())] == [2, 2, 2]
        with (
            StoreClient(store.url, Backoff(tries=1)) as hasty,
            pytest.raises(StoreError, match=rf"'007' cannot be read from {store.url}: no connection, after 1 of 1"),
        ):
            hasty.get("007")
        with pytest.raises(RuntimeError, match="is not running"):
            store.kill()


def test_overload_is_refused_and_whoever_tries_again_gets_everything(folder: Path) -> None:
    with ObjectStore(folder, operations_per_s=OPERATIONS_PER_S, queue=1) as store:
        tries = [each for of_client in load(store.url, NAMES[:32], 4, Backoff(0.002, 0.02, 1000)) for each in of_client]
        statuses = Counter(each.status for each in tries)
        assert statuses[200] == 32
        assert statuses[503] > 0
        assert set(statuses) == {200, 503}
        assert Counter(each.status for each in store.log()) == statuses
        # One at a time: no two that were served overlap in the server.
        served = sorted(each for each in store.log() if each.status == 200)
        assert all(a.ended_ns <= b.began_ns for a, b in itertools.pairwise(served))


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children() if "server.py" in " ".join(child.cmdline())}


def test_after_an_error_no_server_no_folder_and_no_port_is_left(folder: Path) -> None:
    before, store = children(), ObjectStore(folder)

    def fail() -> None:
        assert len(children()) == len(before) + 1
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), store:
        fail()
    assert children() == before
    assert not store._folder.path.exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(store.url.split(":")[-1])))


def test_a_server_that_does_not_start_says_why(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = children()
    (tmp_path / "server.py").write_text("raise SystemExit('no disk')")
    monkeypatch.setattr(process, "_SERVER", tmp_path / "server.py")
    with pytest.raises(RuntimeError, match=r"the server of http://127\.0\.0\.1:\d+ did not start: no disk"):
        ObjectStore(folder).__enter__()
    assert children() == before


def test_the_documented_line_serves_a_folder_and_ends_with_its_parent(folder: Path) -> None:
    line = [sys.executable, "-m", "course_lib.storage.object_store", str(folder), "--operations-per-s", "400"]
    line += ["--latency-ms", "1", "--MB-per-s", "20", "--queue", "4", "--with-parent"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        url, *words = server.stdout.readline().split()
        assert words == ["serves", str(folder)]
        with StoreClient(url) as client:
            assert client.get("042") == b"042" * 64
        server.stdin.close()
        assert server.wait(30) == 0


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "wrong",
    [
        {"queue": 0},
        {"operations_per_s": -1},
        {"latency_s": -0.1},
        {"bytes_per_s": 0},
        {"latency_s": NAN},
        {"latency_s": INF},
        {"bytes_per_s": NAN},
        {"queue": NAN},
    ],
)
def test_limits_that_cannot_be_are_refused(folder: Path, wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="limits must be positive and finite, got"):
        ObjectStore(folder, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a store serves a folder, got"):
        ObjectStore(folder / "none")
