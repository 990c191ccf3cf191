"""The storage explorer: what it shows is what the model of chapter 11 says."""

import heapq
import statistics
from dataclasses import replace
from typing import Any

import pytest

from course_lib.storage import LIMITS, MLPERF_STORAGE, CentralStorage, InputSetup, gpus_busy, samples_per_s
from course_lib.storage.object_store.server import Pace
from course_lib.widgets import StorageExplorer
from course_lib.widgets.storage import (
    BATCH,
    FILE_SAMPLES,
    LOCAL,
    MACHINES,
    STORAGES,
    InputPath,
    StorageSetting,
    describe_input,
    format_gpus,
)
from course_lib.widgets.storage_way import moments, way_of, way_steps, whole_seconds

from .parts import facts_of, part

SETTING = StorageSetting(16, 32, samples_per_s=10_000.0, sample_bytes=1e5)


@pytest.mark.parametrize("storage", ["Lustre", "object store"])
@pytest.mark.parametrize("file_samples", FILE_SAMPLES[::4])
def test_shared_storage_has_the_limits_of_the_chapters_model(storage: str, file_samples: int) -> None:
    path = InputPath(replace(SETTING, storage=storage, file_samples=file_samples, cached_share=0.5))
    setup = InputSetup(STORAGES[storage], 1e5, 1e4, file_samples, readers=32, cached_share=0.5)
    assert [path.samples_per_s(count) for count in MACHINES] == [samples_per_s(setup, count) for count in MACHINES]
    assert [path.gpus_busy(count) for count in MACHINES] == [gpus_busy(setup, count) for count in MACHINES]
    assert path.longest == setup.first_limit(16)
    assert list(path.step_parts_s) == list(LIMITS)


@pytest.mark.parametrize("file_samples", [1, 10, 1000])
@pytest.mark.parametrize("readers", [1, 64])
@pytest.mark.parametrize("rate", [100.0, 5000.0, 1e5])
def test_the_storage_is_exhausted_from_the_first_machine_at_which_it_is_the_lowest_limit(
    file_samples: int, readers: int, rate: float
) -> None:
    path = InputPath(replace(SETTING, file_samples=file_samples, readers=readers, samples_per_s=rate))
    lowest = [min(limits, key=limits.__getitem__) for limits in map(path.limits, range(1, 300))]
    found = next((count for count, limit in enumerate(lowest, 1) if limit in ("opens", "bandwidth")), None)
    assert path.exhausted_machines == found or (found is None and (path.exhausted_machines or 300) >= 300)


def test_disks_of_their_own_are_never_exhausted_and_twice_the_machines_read_twice_as_much() -> None:
    path = InputPath(replace(SETTING, storage=LOCAL, samples_per_s=1e5))
    assert path.exhausted_machines is None
    assert [path.samples_per_s(count) / count for count in MACHINES] == [path.samples_per_s(1)] * len(MACHINES)
    disk = STORAGES[LOCAL]
    assert path.limits(1)["bandwidth"] == disk.bytes_per_s / 1e5


def test_it_begins_as_the_page_does() -> None:
    h100 = MLPERF_STORAGE[1]
    values = StorageExplorer().values
    assert values["samples_per_s"] == round(8 * h100.batch / h100.compute_s)
    assert values["sample_bytes"] == round(h100.sample_bytes)
    assert 8 * h100.batch == BATCH
    assert STORAGES["Lustre"] == CentralStorage("Lustre", 2.3e-3, 20_000, 100e9)
    assert StorageExplorer().caption.startswith(
        "1 machine, 1 reader each, a file for each sample, Lustre: 0.24 of 8 GPUs"
    )
    assert facts_of(StorageExplorer())["readers"] == "34 keep a machine busy"


def test_presets_are_the_published_figures() -> None:
    assert STORAGES[LOCAL] == CentralStorage(LOCAL, 11e-6, 707_062, 2762.0 * 2**20)
    assert STORAGES["object store"] == CentralStorage("object store", 0.15, 20_000, 250e9)


def test_words_facts_and_marks_say_who_waits_for_whom() -> None:
    assert "1.0 of 8 GPUs are busy. They wait for the servers' opens." in describe_input(InputPath(SETTING))
    assert "wait for nothing" in describe_input(InputPath(replace(SETTING, file_samples=1000)))
    opens = replace(SETTING, readers=1, machines=1)
    assert "They wait for their own readers." in describe_input(InputPath(opens))
    explorer = StorageExplorer(machines=16, readers=34)
    facts = facts_of(explorer)
    assert (facts["waited for"], facts["storage exhausted"]) == ("the servers' opens", "from 2 machines")
    assert list(part(explorer, "Busy GPUs of a machine, by machines").notes.values()) == ["exhausted: 2"]
    waited = {name for name, bar in part(explorer, "Who waits").bars.items() if bar["the others wait for it"]}
    assert waited == {"servers open"}


@pytest.mark.parametrize("busy", [0.001, 0.2376, 0.9961, 1.04, 7.41, 7.97, 7.999, 8.0])
def test_eight_is_written_where_all_are_busy_and_nowhere_else(busy: float) -> None:
    assert (format_gpus(busy) == "8") == (busy == 8)
    assert float(format_gpus(busy)) == pytest.approx(busy, abs=0.1)


def test_the_servers_opens_are_a_control_where_machines_share_them() -> None:
    twice = [InputPath(replace(SETTING, opens_per_s=opens)).samples_per_s(64) for opens in (20_000, 40_000)]
    assert twice[1] == 2 * twice[0]
    explorer = StorageExplorer(storage=LOCAL)
    assert explorer.controls["opens_per_s"].disabled
    assert not StorageExplorer().controls["opens_per_s"].disabled


@pytest.mark.parametrize("storage", STORAGES)
def test_everything_in_the_cache_asks_nothing_of_the_storage(storage: str) -> None:
    setting = replace(SETTING, storage=storage, cached_share=1.0)
    path = InputPath(setting)
    assert path.exhausted_machines is None
    assert path.step_parts_s["opens"] == path.step_parts_s["bandwidth"] == path.step_parts_s["readers"] == 0
    assert "wait for nothing" in StorageExplorer.pictures(setting)[0]


@pytest.mark.parametrize(
    ("changes", "queue"),
    [
        ({}, "queue"),
        ({"readers": 4}, "queue"),
        ({"storage": "object store", "readers": 256}, "queue"),
        ({"file_samples": 100, "machines": 128}, "bandwidth"),
    ],
)
def test_a_request_waits_as_long_as_at_a_server_that_is_played(changes: dict[str, Any], queue: str) -> None:
    setting = replace(SETTING, **changes)
    setup, readers = InputPath(setting).setup(), setting.machines * setting.readers
    storage, bytes_s = setup.storage, setup.file_s - setup.storage.open_s
    file_bytes = setting.file_samples * setting.sample_bytes
    pace = Pace(storage.opens_per_s, storage.open_s - 1 / storage.opens_per_s, storage.bytes_per_s)
    asking, seconds = [0.0] * readers, []
    for _ in range(20 * readers):  # whoever has its file asks for the next one
        now_s = heapq.heappop(asking)
        end_s = pace.end_s(now_s, file_bytes) + bytes_s
        seconds.append(end_s - now_s)
        heapq.heappush(asking, end_s)
    places = way_of(InputPath(setting))
    assert whole_seconds(places) == pytest.approx(statistics.fmean(seconds[-readers:]), rel=0.02)
    assert {place.name for place in places if place.waits and place.seconds} == {queue}
    assert sum(place.requests for place in places) == pytest.approx(readers)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("file_samples", [1, 100, 10_000])
@pytest.mark.parametrize("machines", [1, 16, 1024])
def test_no_more_requests_are_in_flight_than_there_are_readers(machines: int, file_samples: int, storage: str) -> None:
    setting = replace(SETTING, storage=storage, file_samples=file_samples, machines=machines)
    path = InputPath(setting)
    places = way_of(path)
    in_flight, readers = sum(place.requests for place in places), machines * setting.readers
    assert in_flight == pytest.approx(readers) if path.longest != "GPUs" else in_flight <= readers
    assert all(place.seconds >= 0 for place in places)
    steps = moments(places)
    assert len(steps) - 1 == way_steps(path)
    passed = [whole_seconds(places[: places.index(place)]) + share * place.seconds for place, share in steps]
    assert passed == sorted(passed)
    assert (passed[0], passed[-1]) == (0, pytest.approx(whole_seconds(places)))


def test_play_opens_the_way_and_a_full_cache_shuts_it() -> None:
    explorer = StorageExplorer(machines=16, readers=34)
    assert part(explorer, "Busy GPUs of a machine, by machines")
    explorer.set(step=1)
    assert explorer.values["watched"]
    assert "a request waits for the servers to open its file, with 496 others. Of its time 91%" in explorer.caption
    assert facts_of(explorer)["their product, in flight"] == "544"
    explorer.set(step=explorer.step_slider.max)
    assert "After 27.2 ms of 27.2 ms a request has its bytes under way" in explorer.caption
    explorer.set(cached_share=1.0)
    assert explorer.step_slider.disabled
    assert "wait for nothing" in explorer.caption
