"""The object store: its pace, its records, its client; its processes have a file of their own."""

import asyncio
import itertools
import random
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from aiohttp.test_utils import TestClient, TestServer

from course_lib.storage.object_store import (
    Backoff,
    Request,
    StoreClient,
    StoreError,
    percentile,
    reads,
    summarize,
)
from course_lib.storage.object_store import server as server_module
from course_lib.storage.object_store.herd import simulate_outage
from course_lib.storage.object_store.request_log import read_log
from course_lib.storage.object_store.server import Pace, Store


def request(began_ns: int, ended_ns: int, status: int | str = 200, sent_bytes: int = 0, name: str = "a") -> Request:
    return Request(began_ns, ended_ns, status, sent_bytes, name)


def test_operations_queue_then_latencies_pass_together_then_bytes_queue() -> None:
    pace = Pace(operations_per_s=2, latency_s=10, bytes_per_s=4)
    # Found at 10.5, 11 and 11.5; the first one's eight bytes hold the others up.
    assert [pace.end_s(0, size) for size in (8, 4, 0)] == [12.5, 13.5, 13.5]
    # After a pause nothing is left to wait for.
    assert pace.end_s(100, 0) == 110.5


@pytest.mark.parametrize("rate", [1, 8, 1024])
@pytest.mark.parametrize("size", [0, 64])
def test_no_more_is_done_than_the_limits_allow(rate: int, size: int) -> None:
    pace = Pace(operations_per_s=rate, latency_s=0.25, bytes_per_s=32)
    for number in range(1, 20):
        end_s = pace.end_s(0, size)
        assert end_s >= number / rate + 0.25
        assert end_s >= number * size / 32
    # The last one waits for the slower of the two queues, and once through the other.
    assert end_s == 0.25 + max(19 / rate + size / 32, 1 / rate + 19 * size / 32)


@pytest.mark.parametrize("failed", [1, 2, 5, 5000])
def test_the_longest_wait_doubles_up_to_the_cap_and_jitter_fills_it(failed: int) -> None:
    longest_s = min(1.0, 0.125 * 2 ** min(failed - 1, 60))
    assert Backoff(0.125, 1, jitter=False).wait_s(failed, random.Random()) == longest_s
    draw = random.Random(0)
    waits_s = [Backoff(0.125, 1).wait_s(failed, draw) for _ in range(200)]
    assert 0 <= min(waits_s) < 0.1 * longest_s
    assert 0.9 * longest_s < max(waits_s) <= longest_s


@pytest.mark.parametrize("wrong", [{"base_s": -1}, {"base_s": 2, "cap_s": 1}, {"tries": 0}])
def test_a_back_off_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"tries of at least 1 and 0 <= base_s <= cap_s, got Backoff"):
        Backoff(**wrong)  # type: ignore[arg-type]


def test_a_run_in_numbers() -> None:
    summary = summarize([request(0, 10**9), request(0, 3 * 10**9, sent_bytes=8), request(10**9, 2 * 10**9, 503)])
    assert (summary.requests, summary.per_s, summary.failed, summary.bytes_per_s) == (3, 1, 1, 8 / 3)
    assert (summary.mean_s, summary.p50_s, summary.p95_s, summary.p99_s) == (5 / 3, 1, 3, 3)
    assert summary.in_flight == summary.per_s * summary.mean_s
    with pytest.raises(ValueError, match="there must be requests"):
        summarize([])


@pytest.mark.parametrize("share", [0.01, 0.5, 0.95, 0.99, 1])
@pytest.mark.parametrize("count", [1, 2, 99, 100, 101])
def test_percentiles_are_those_of_numpy_that_are_values(share: float, count: int) -> None:
    values = np.random.default_rng(count).permutation(count).tolist()
    assert percentile(values, share) == np.quantile(values, share, method="inverted_cdf")
    with pytest.raises(ValueError, match="share from above 0 to 1"):
        percentile(values, 0)


def test_the_tries_of_an_object_make_one_read() -> None:
    tries = [request(0, 1, 503), request(4, 6, 200, 9), request(6, 8, name="b"), request(8, 9, 503)]
    assert reads(tries) == [request(0, 6, 200, 9), request(6, 8, name="b"), request(8, 9, 503)]


# What a server sends, in order of the tries; a connection ends after each.
SAID = {
    "fine": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndata",
    "busy": b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy",
    "half": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nda",
    "nothing": b"",
    "later": b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "much later": b"HTTP/1.1 503 Busy\r\nRetry-After: 9999\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "time-out": b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "missing": b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "silence": None,
}


@pytest.fixture
def says(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that answers as its parameter lists."""
    silent = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for word in request.param:
                connection = listening.accept()[0]
                if SAID[word] is None:
                    silent.append(connection)
                    continue
                with connection:
                    connection.recv(65536)
                    connection.sendall(SAID[word])

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        for connection in silent:
            connection.close()
        thread.join(5)


@pytest.mark.parametrize("says", [["busy", "half", "nothing", "fine"]], indirect=True)
def test_an_object_is_tried_until_all_of_it_is_here_with_a_wait_after_each_failure(says: str) -> None:
    waits: list[float] = []
    with StoreClient(says, Backoff(1, 2, tries=4, jitter=False), sleep=waits.append) as client:
        assert client.get("a/ü b") == b"data"
    assert waits == [1, 2, 2]
    assert [each.status for each in client.tries] == [503, "cut off", "cut off", 200]
    assert {each.name for each in client.tries} == {"a/ü b"}


@pytest.mark.parametrize("says", [["later", "time-out", "much later", "later", "fine"]], indirect=True)
def test_a_server_that_says_when_is_not_asked_before_but_a_minute_is_enough(says: str) -> None:
    waits: list[float] = []
    with StoreClient(says, Backoff(1, 4, tries=5, jitter=False), sleep=waits.append) as client:
        assert client.get("x") == b"data"
    assert waits == [3, 2, 60, 4]


@pytest.mark.parametrize("says", [["missing"]], indirect=True)
def test_what_does_not_exist_is_asked_for_once(says: str) -> None:
    with (
        StoreClient(says, sleep=pytest.fail) as client,
        pytest.raises(StoreError, match=rf"'gone' cannot be read from {says}: 404, after 1 of 60 tries"),
    ):
        client.get("gone")


@pytest.mark.parametrize("says", [["silence", "busy"]], indirect=True)
def test_the_last_failure_names_object_server_and_tries(says: str) -> None:
    waits: list[float] = []
    with (
        StoreClient(says, Backoff(tries=2), timeout_s=0.05, sleep=waits.append) as client,
        pytest.raises(StoreError, match=rf"'x' cannot be read from {says}: 503, after 2 of 2 tries"),
    ):
        client.get("x")
    assert [each.status for each in client.tries] == ["time-out", 503]
    assert len(waits) == 1


async def answers(store: Store, names: list[str]) -> list[tuple[int, bytes]]:
    async with TestClient(TestServer(store.application())) as client:

        async def get(name: str) -> tuple[int, bytes]:
            async with client.get("/" + name) as response:
                return response.status, await response.read()

        return list(await asyncio.gather(*map(get, names)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "objects" / "deep").mkdir(parents=True)
    (tmp_path / "objects" / "a b").write_bytes(b"")
    (tmp_path / "objects" / "deep" / "ü").write_bytes(bytes(range(256)) * 1000)
    (tmp_path / "secret").write_bytes(b"secret")
    return tmp_path / "objects"


def test_files_are_objects_and_nothing_outside_the_folder_is(folder: Path) -> None:
    names = ["a%20b", "deep/%C3%BC", "none", "deep", "..%2Fsecret", "deep/..%2F..%2Fsecret"]
    said = asyncio.run(answers(Store(folder, Pace(1e6, 0, 1e12), 9, folder.parent / "log"), names))
    assert said == [(200, b""), (200, bytes(range(256)) * 1000), *[(404, b"")] * 4]
    recorded = {(each.name, each.status, each.sent_bytes) for each in read_log(folder.parent / "log")}
    assert recorded > {("a b", 200, 0), ("deep/ü", 200, 256_000), ("none", 404, 0)}


def test_a_name_that_no_file_can_have_is_no_object_and_not_an_error_of_the_server(folder: Path) -> None:
    (folder / "circle").symlink_to("circle")
    names = ["%00", "a%00b", "x" * 300, "deep/" + "y" * 3000, "%F0%9F%90%A3" * 100, "circle", "a%20b/c"]
    assert asyncio.run(answers(Store(folder, Pace(1e6, 0, 1e12), 9), names)) == [(404, b"")] * len(names)


async def sent_to_who_does_not_read(store: Store, name: str) -> tuple[int, int]:
    """How many bytes of an answer leave the disk before its client reads, and how many then come."""
    async with TestServer(store.application()) as server:
        reader, writer = await asyncio.open_connection(server.host, server.port, limit=2**16)
        writer.write(f"GET /{name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        before = -1
        while before != (before := store.read_bytes) or not before:  # type: ignore[attr-defined]
            await asyncio.sleep(0.1)
        came = await reader.read()
        writer.close()
    return before, len(came.partition(b"\r\n\r\n")[2])


def test_an_answer_that_nobody_reads_takes_little_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (folder / "large").open("wb") as file:
        file.truncate(10**8)
    store = Store(folder, Pace(1e6, 0, 1e12), 9)
    store.read_bytes = 0  # type: ignore[attr-defined]
    write = server_module.web.StreamResponse.write

    async def counted(response, piece):
        store.read_bytes += len(piece)  # type: ignore[attr-defined]
        await write(response, piece)

    monkeypatch.setattr(server_module.web.StreamResponse, "write", counted)
    before, came = asyncio.run(sent_to_who_does_not_read(store, "large"))
    assert (before < 3e7, came) == (True, 10**8)


def test_what_comes_beyond_the_queue_is_refused_at_once_and_everything_is_on_record(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(folder, Pace(1e6, 0, 1e12), 2, tmp_path / "log")
    refused, gate, send = itertools.count(1), asyncio.Event(), store._send

    async def note(request, status, path, came_ns):
        if status == 503 and next(refused) == 3:
            gate.set()
        return await send(request, status, path, came_ns)

    # The two that are served wait until three others were refused.
    monkeypatch.setattr(store, "_send", note)
    monkeypatch.setattr(server_module, "asyncio", type("", (), {"sleep": lambda _: gate.wait()}))
    said = asyncio.run(answers(store, ["a%20b"] * 5))
    assert Counter(status for status, _ in said) == {200: 2, 503: 3}
    assert Counter(each.status for each in read_log(tmp_path / "log")) == {200: 2, 503: 3}
    assert store.in_flight == 0


JITTER, LOCKSTEP = Backoff(0.05, 1, tries=1000), Backoff(0.05, 1, tries=1000, jitter=False)


def test_a_herd_in_lockstep_by_hand() -> None:
    tries = simulate_outage(3, Backoff(1, 2, jitter=False), down_s=0.5, operations_per_s=10, queue=2)
    at_once = [(0.0, "no connection")] * 3
    assert [tuple(each) for each in tries] == [*at_once, (1.0, 200), (1.0, 200), (1.0, 503), (3.0, 200)]


def test_every_client_is_served_once_and_jitter_spreads_the_tries() -> None:
    runs = [simulate_outage(300, b, down_s=1, operations_per_s=400, queue=16) for b in (JITTER, LOCKSTEP)]
    most = []
    for tries in runs:
        assert sum(each.status == 200 for each in tries) == 300
        assert all((each.status == "no connection") == (each.at_s < 1) for each in tries)
        most.append(max(Counter(int(10 * each.at_s) for each in tries if each.at_s >= 1).values()))
    assert most[0] < 100 < most[1] == 300
    assert max(runs[0])[0] < max(runs[1])[0] / 2


def test_clients_that_first_ask_at_different_times_need_no_jitter() -> None:
    at_once, spread = (
        simulate_outage(300, LOCKSTEP, down_s=1, operations_per_s=400, queue=16, spread_s=spread_s)
        for spread_s in (0, 1)
    )
    first_asked = sorted(each.at_s for each in spread)[:20]
    assert 0 < first_asked[0] < first_asked[-1] < 0.2
    assert sum(each.status == 200 for each in spread) == 300
    assert len(spread) < len(at_once) / 2
    assert max(spread)[0] < max(at_once)[0] / 2


def test_in_virtual_time_nobody_waits_for_nothing() -> None:
    with pytest.raises(ValueError, match="clients must wait between two tries"):
        simulate_outage(1, Backoff(0, 0), down_s=1, operations_per_s=1, queue=1)
