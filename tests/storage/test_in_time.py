"""Loading ahead, caches, requests in flight, storage that is shared: each law by hand and against what happens."""

import contextlib
import math
import random
import statistics
import threading
from fractions import Fraction
from itertools import permutations

import pytest

from course_lib.comm import Network, simulate
from course_lib.storage import (
    MLPERF_STORAGE,
    NVME_SCAN,
    CentralStorage,
    InputSetup,
    KeepFirst,
    LeastRecentlyUsed,
    Prefetcher,
    caches,
    count_misses,
    epochs_of,
    flow_of,
    gpus_busy,
    lru_miss_rate_permuted,
    needed_in_flight,
    overlapped_seconds,
    prefetch,
    samples_per_s,
)
from course_lib.storage.experiments import SharedStep, shared_step_seconds, train_beside_storage


def test_overlap_by_hand() -> None:
    # Load 0-1, 1-5 (slow), 5-6; compute 1-3, 5-7, 7-9.
    assert overlapped_seconds([1, 4, 1], [2, 2, 2], depth=1) == 9


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize(("load", "compute"), [(2, 3), (3, 2), (2, 2), (0, 1), (1, 0)])
def test_equal_batches_take_the_longer_of_both(load: int, compute: int, depth: int) -> None:
    assert overlapped_seconds([load] * 10, [compute] * 10, depth) == load + 9 * max(load, compute) + compute


def test_ranks_by_hand() -> None:
    # Rank 0 loads 0-4 and 4-5, rank 1 0-1 and 1-5: both wait for rank 0, then nobody. Compute 4-6 and 6-8.
    assert overlapped_seconds([[4, 1], [1, 4]], [2, 2], depth=1) == 8
    # Rank 1 takes its first batch at 1 and waits for rank 0 in the all-reduce, while its loader goes on: 2-6 the third.
    assert overlapped_seconds([[4, 1], [1, 1], [1, 4]], [1, 1, 1], depth=1) == 7


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("ranks", [1, 2, 7])
def test_equal_ranks_take_as_long_as_one_and_none_takes_less_than_its_own(ranks: int, depth: int) -> None:
    draw = random.Random(ranks)
    loads = [[draw.choice([1, 1, 1, 9]) for _ in range(ranks)] for _ in range(40)]
    alone = [overlapped_seconds(own, [2] * 40, depth) for own in zip(*loads, strict=True)]
    together = overlapped_seconds(loads, [2] * 40, depth)
    assert max(alone) <= together <= sum(map(max, loads)) + 2 * 40
    assert overlapped_seconds([[own] * ranks for own, *_ in loads], [2] * 40, depth) == alone[0]


def test_a_deeper_queue_hides_one_slow_batch() -> None:
    load, compute = [1, 1, 1, 1, 1, 6, 1], [2] * 7
    assert [overlapped_seconds(load, compute, depth) for depth in (1, 2, 3, 4, 6)] == [17, 15, 15, 15, 15]
    assert overlapped_seconds(load, compute, 6) >= max(sum(load), 1 + sum(compute))


@pytest.mark.parametrize("depth", [1, 3])
def test_no_more_than_depth_batches_wait(depth: int) -> None:
    loaded: list[int] = []
    full = threading.Semaphore(0)

    def source():  # type: ignore[no-untyped-def]
        for batch in range(12):
            loaded.append(batch)
            full.release()
            yield batch

    with Prefetcher(source(), depth) as batches:
        for _ in range(depth + 1):
            assert full.acquire(timeout=10)  # so many are loaded before anybody takes one
        assert not full.acquire(timeout=0.05)
        assert len(loaded) == depth + 1
        assert list(batches) == loaded == list(range(12))


def test_what_the_source_raises_the_taker_sees() -> None:
    def source():  # type: ignore[no-untyped-def]
        yield 1
        raise OSError("disk gone")

    with Prefetcher(source(), 2) as batches:
        taken = iter(batches)
        assert next(taken) == 1
        with pytest.raises(OSError, match="disk gone"):
            next(taken)


def test_leaving_early_ends_the_thread() -> None:
    with Prefetcher(iter(range(1000)), 1) as batches:
        assert next(iter(batches)) == 0
    assert not batches._thread.is_alive()


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_second_loop_goes_on_and_one_after_the_end_is_refused(depth: int) -> None:
    with Prefetcher(range(4), depth) as batches:
        assert next(iter(batches)) == 0
        assert list(batches) == [1, 2, 3]
        for _ in range(2):
            with pytest.raises(RuntimeError, match="have been taken: make another for another epoch"):
                next(iter(batches))


def test_two_threads_that_take_batches_both_end() -> None:
    taken: list[int] = []

    def take() -> None:
        with contextlib.suppress(RuntimeError):
            taken.extend(batches)

    with Prefetcher(range(50), 2) as batches:
        threads = [threading.Thread(target=take) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert sorted(taken) == list(range(50))


def test_outside_of_its_block_a_prefetcher_is_refused_and_does_not_hang() -> None:
    batches = Prefetcher(range(4), 2)
    with pytest.raises(RuntimeError, match="loads inside its with block"):
        next(iter(batches))
    with batches:
        left = iter(batches)
        assert next(left) == 0
    for late in (left, iter(batches)):
        with pytest.raises(RuntimeError, match="loads inside its with block"):
            next(late)
    with pytest.raises(RuntimeError, match="has one with block"), batches:
        pass
    with Prefetcher([], 3) as nothing:
        assert list(nothing) == []


def test_a_body_that_fails_is_heard_though_the_source_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefetch, "_PATIENCE_S", 0.1)
    go_on = threading.Event()

    def source():  # type: ignore[no-untyped-def]
        yield 1
        go_on.wait(30)
        yield 2

    def fails() -> None:
        with Prefetcher(source(), 1) as batches:
            found.append(batches)
            assert next(iter(batches)) == 1
            raise ValueError("loss is nan")

    found: list[Prefetcher[int]] = []
    with pytest.raises(ValueError, match="loss is nan"):
        fails()
    go_on.set()
    found[0]._thread.join(10)
    assert not found[0]._thread.is_alive()


def test_misses_by_hand() -> None:
    assert count_misses(LeastRecentlyUsed(2), [[0, 1, 2], [2, 1, 0]]) == [3, 1]
    assert count_misses(KeepFirst(2), [[0, 1, 2], [2, 1, 0]]) == [3, 1]
    assert count_misses(LeastRecentlyUsed(2), [[0, 1, 2], [0, 1, 2]]) == [3, 3]


@pytest.mark.parametrize("places", [1, 3, 7, 8, 9])
def test_a_scan_in_the_same_order_misses_as_the_laws_say(places: int) -> None:
    _, *recent = count_misses(LeastRecentlyUsed(places), epochs_of(8, 4))
    _, *first = count_misses(KeepFirst(places), epochs_of(8, 4))
    assert recent == [8 if places < 8 else 0] * 3
    assert first == [max(0, 8 - places)] * 3


@pytest.mark.parametrize(("samples", "places"), [(2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3), (4, 4), (5, 3)])
def test_lru_under_fresh_permutations_is_exact(samples: int, places: int) -> None:
    first = list(range(samples))  # by symmetry any first epoch will do
    every = list(permutations(first))
    misses = sum(count_misses(LeastRecentlyUsed(places), [first, second])[1] for second in every)
    assert lru_miss_rate_permuted(samples, places) == Fraction(misses, samples * len(every))


def test_the_exact_law_takes_as_many_fractions_as_samples_and_chooses_in_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    fractions: list[int] = []
    rows: list[int] = []

    def counted(*parts: int) -> Fraction:
        fractions.append(1)
        return Fraction(*parts)

    def row(count: int) -> list[int]:
        rows.append(count)
        return choices(count)

    choices = caches._choices
    monkeypatch.setattr(caches, "Fraction", counted)
    monkeypatch.setattr(caches, "_choices", row)
    for samples in (20, 40):
        fractions.clear()
        rows.clear()
        lru_miss_rate_permuted(samples, samples // 2)
        assert len(fractions) <= samples
        assert len(rows) <= 2 * samples


def test_keeping_what_came_first_never_misses_more() -> None:
    for places in range(1, 13):
        assert 1 - Fraction(places, 12) <= lru_miss_rate_permuted(12, places) <= (1 if places < 12 else 0)


def test_littles_law_is_an_identity() -> None:
    flow = flow_of([(0, 4), (1, 2), (1, 8), (6, 10)])
    assert flow.in_flight == 1.6
    assert flow.in_flight == flow.per_s * flow.latency_s
    with pytest.raises(ValueError, match="requests that take time"):
        flow_of([])


@pytest.mark.parametrize("scan", NVME_SCAN)
def test_the_published_scan_has_as_many_in_flight_as_it_was_told(scan) -> None:  # type: ignore[no-untyped-def]
    assert needed_in_flight(scan.requests_per_s, scan.latency_s) == pytest.approx(scan.in_flight, rel=0.035)
    assert scan.requests_per_s * 4096 / 2**20 == pytest.approx(scan.mib_per_s, rel=1e-3)


@pytest.mark.parametrize("run", MLPERF_STORAGE)
def test_published_storages_stay_below_what_the_devices_could_take(run) -> None:  # type: ignore[no-untyped-def]
    storage = CentralStorage("any", 0.0, math.inf, math.inf)
    setup = InputSetup(
        storage, run.sample_bytes, run.batch / run.compute_s, run.samples_per_file, run.readers, math.inf
    )
    assert samples_per_s(setup, run.accelerators) == pytest.approx(run.wanted_per_s)
    assert run.threshold - 0.02 < run.samples_per_s / run.wanted_per_s < 1


DISK = CentralStorage("disk", open_s=0.01, opens_per_s=1000, bytes_per_s=1e8)
SETUP = InputSetup(DISK, 1e5, wanted_per_s=100, readers=2, reader_bytes_per_s=1e8)


def test_limits_by_hand() -> None:
    assert SETUP.file_s == 0.011
    assert SETUP.limits(2) == {"GPUs": 200, "readers": 2 * 2 / 0.011, "opens": 1000, "bandwidth": 1000}
    assert (SETUP.first_limit(2), samples_per_s(SETUP, 2)) == ("GPUs", 200)
    assert (SETUP.first_limit(20), samples_per_s(SETUP, 20)) == ("opens", 1000)
    assert (gpus_busy(SETUP, 2), gpus_busy(SETUP, 20)) == (8, 4)


def test_readers_bring_what_littles_law_says() -> None:
    wanted_per_s = needed_in_flight(1, SETUP.file_s) ** -1  # what one reader brings
    assert SETUP.but(readers=1).limits(1)["readers"] == pytest.approx(wanted_per_s)
    assert needed_in_flight(SETUP.limits(3)["readers"], SETUP.file_s) == pytest.approx(6)


def test_shards_take_opens_away_and_caches_take_bytes_away() -> None:
    shards, cached = SETUP.but(samples_per_file=100), SETUP.but(cached_share=0.5).limits(20)
    assert shards.file_s == pytest.approx(0.01 + 0.1)
    assert shards.limits(20)["opens"] == 100 * SETUP.limits(20)["opens"]
    assert shards.limits(20)["bandwidth"] == SETUP.limits(20)["bandwidth"]
    assert cached["bandwidth"] == 2 * SETUP.limits(20)["bandwidth"]
    assert samples_per_s(SETUP.but(cached_share=1.0), 20) == 2000
    with pytest.raises(ValueError, match=r"cached_share must be from 0 to 1.*got 1.5"):
        SETUP.but(cached_share=1.5)
    with pytest.raises(ValueError, match="wanted_per_s must be more than 0, got 0"):
        SETUP.but(wanted_per_s=0)
    with pytest.raises(ValueError, match="opens_per_s must be more than 0, got 0"):
        CentralStorage("none", 0.0, 0, 1.0)
    with pytest.raises(ValueError, match="machines must be at least 1, got 0"):
        samples_per_s(SETUP, 0)


FREE = Network(bytes_per_s=1000.0)


@pytest.mark.parametrize(("gradient_bytes", "batch_bytes"), [(0, 400), (400, 4), (4000, 4000)])
@pytest.mark.parametrize("trainers", [1, 2, 5])
def test_a_shared_step_takes_at_least_its_longest_part(gradient_bytes: int, batch_bytes: int, trainers: int) -> None:
    step = SharedStep(gradient_bytes, batch_bytes, compute_s=1.0)
    taken_s = max(simulate(train_beside_storage, trainers + 1, args=(step,), network=FREE).results)
    parts = shared_step_seconds(step, trainers, FREE)
    assert max(parts.values()) <= taken_s + 1e-9


@pytest.mark.parametrize("pieces", [1, 4])
def test_without_gradients_the_storages_port_is_the_step(pieces: int) -> None:
    step = SharedStep(0, 400, 1.0, pieces)
    *trainers, _storage = simulate(train_beside_storage, 6, args=(step,), network=FREE).results
    taken_s = statistics.median(trainers)  # a message of no gradients may let another trainer's batch go first, once
    assert taken_s == pytest.approx(2.0) == shared_step_seconds(step, 5, FREE)["storage's port"]


def test_a_storage_needs_a_trainer() -> None:
    with pytest.raises(Exception, match="a storage and a trainer need 2 ranks, got 1"):
        simulate(train_beside_storage, 1, args=(SharedStep(8, 8, 0.0),))
