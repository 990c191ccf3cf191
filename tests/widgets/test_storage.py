"""The storage explorer: what it shows is what the model of chapter 11 says."""

import heapq
import statistics
from typing import Any

import pytest

from course_lib.storage import LIMITS, CentralStorage, InputSetup, samples_per_s
from course_lib.storage.object_store.server import Pace
from course_lib.widgets import StorageExplorer
from course_lib.widgets.storage.model import BATCH, FILE_SAMPLES, NODES, STORAGES, InputPath, StorageSetting
from course_lib.widgets.storage.panels import describe_input, pictures
from course_lib.widgets.storage.way import moments, way_of, way_steps, whole_seconds

from .parts import facts_of, part

SETTING = StorageSetting(16, 10_000.0, 1e5, "Lustre", 1, 0.0, 32, "ResNet-50, 102 MB", 1e10)


@pytest.mark.parametrize("storage", ["Lustre", "object store"])
@pytest.mark.parametrize("file_samples", FILE_SAMPLES[::4])
def test_shared_storage_has_the_limits_of_the_chapters_model(storage: str, file_samples: int) -> None:
    path = InputPath(SETTING._replace(storage=storage, file_samples=file_samples, cached_share=0.5))
    same = {"samples_per_file": file_samples, "readers": 32, "cached_share": 0.5}
    setup = InputSetup(STORAGES[storage], 1e5, BATCH, BATCH / 1e4, 102e6, 1e10, **same)
    assert [path.samples_per_s(nodes) for nodes in NODES] == [samples_per_s(setup, nodes) for nodes in NODES]
    assert path.longest == setup.first_limit(16)
    assert list(path.step_parts_s) == list(LIMITS)


@pytest.mark.parametrize("file_samples", [1, 10, 1000])
@pytest.mark.parametrize("gradients", ["none", "VGG-16, 553 MB"])
@pytest.mark.parametrize("rate", [100.0, 5000.0, 1e5])
def test_the_storage_is_exhausted_from_the_first_node_at_which_it_is_the_lowest_limit(
    file_samples: int, gradients: str, rate: float
) -> None:
    path = InputPath(SETTING._replace(file_samples=file_samples, gradients=gradients, samples_per_s=rate, readers=1))
    shared = ("metadata", "storage bandwidth")
    lowest = [min(limits, key=limits.__getitem__) for limits in map(path.limits, range(1, 300))]
    found = next((nodes for nodes, limit in enumerate(lowest, 1) if limit in shared), None)
    assert path.exhausted_nodes == found or (found is None and (path.exhausted_nodes or 300) >= 300)


def test_disks_of_their_own_are_never_exhausted_and_twice_the_nodes_read_twice_as_much() -> None:
    path = InputPath(SETTING._replace(storage="NVMe in each node", gradients="none", samples_per_s=1e5))
    assert path.exhausted_nodes is None
    assert [path.samples_per_s(nodes) / nodes for nodes in NODES] == [path.samples_per_s(1)] * len(NODES)
    disk = STORAGES["NVMe in each node"]
    assert path.limits(1)["storage bandwidth"] == disk.bytes_per_s / 1e5


def test_gradients_still_cross_the_link_when_samples_do_not() -> None:
    setting = SETTING._replace(storage="NVMe in each node", gradients="VGG-16, 553 MB", link_bytes_per_s=1e8)
    assert InputPath(setting).longest == "links"
    assert InputPath(setting).limits(16)["links"] == 16 * BATCH * 1e8 / (2 * 15 / 16 * 553e6)


def test_presets_are_the_published_figures() -> None:
    lustre = STORAGES["Lustre"]
    assert lustre == CentralStorage("Lustre", 2.3e-3, 12_556.6, lustre.bytes_per_s)
    assert lustre.bytes_per_s == pytest.approx(103.9e9, rel=1e-3)
    assert STORAGES["NVMe in each node"] == CentralStorage("NVMe in each node", 11e-6, 707_062, 2762.0 * 2**20)
    assert STORAGES["object store"] == CentralStorage("object store", 0.15, 5500, 250e9)


def test_words_facts_and_marks_say_who_waits_for_whom() -> None:
    assert "everybody waits for metadata; the devices compute 8%" in describe_input(InputPath(SETTING))
    assert "nobody waits" in describe_input(InputPath(SETTING._replace(file_samples=1000)))
    opens = SETTING._replace(readers=1, nodes=1)
    assert "everybody waits for opens" in describe_input(InputPath(opens))
    explorer = StorageExplorer()
    facts = facts_of(explorer)
    assert (facts["waited for"], facts["storage exhausted"]) == ("metadata", "from 2 nodes")
    assert facts["opens under way"] == "23 to keep a node busy"  # 10,000 a second × 2.3 ms
    assert list(part(explorer, "Samples a second by nodes").notes.values()) == ["exhausted: 2"]
    waited = {name for name, bar in part(explorer, "Who waits").bars.items() if bar["the others wait for it"]}
    assert waited == {"metadata"}


@pytest.mark.parametrize("storage", STORAGES)
def test_everything_in_the_cache_asks_nothing_of_the_storage(storage: str) -> None:
    setting = SETTING._replace(storage=storage, cached_share=1.0)
    path = InputPath(setting)
    assert path.exhausted_nodes is None
    assert path.step_parts_s["metadata"] == path.step_parts_s["storage bandwidth"] == 0
    assert "nobody waits" in pictures(setting)[0]


@pytest.mark.parametrize(
    ("changes", "queue"),
    [
        ({}, "metadata"),
        ({"readers": 4}, "metadata"),
        ({"storage": "object store", "readers": 64}, "metadata"),
        ({"file_samples": 100, "nodes": 128}, "bandwidth"),
    ],
)
def test_a_request_waits_as_long_as_at_a_server_that_is_played(changes: dict[str, Any], queue: str) -> None:
    setting = SETTING._replace(**changes)
    storage, readers = STORAGES[setting.storage], setting.nodes * setting.readers
    file_bytes = setting.file_samples * setting.sample_bytes
    pace = Pace(storage.opens_per_s, storage.open_s - 1 / storage.opens_per_s, storage.bytes_per_s)
    asking, seconds = [0.0] * readers, []
    for _ in range(20 * readers):  # whoever has its file asks for the next one
        now_s = heapq.heappop(asking)
        end_s = pace.end_s(now_s, file_bytes) + file_bytes / setting.link_bytes_per_s
        seconds.append(end_s - now_s)
        heapq.heappush(asking, end_s)
    places = way_of(InputPath(setting))
    assert whole_seconds(places) == pytest.approx(statistics.fmean(seconds[-readers:]), rel=0.02)
    assert {place.name for place in places if place.waits and place.seconds} == {queue}
    assert sum(place.requests for place in places) == pytest.approx(readers)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("file_samples", [1, 100, 10_000])
@pytest.mark.parametrize("nodes", [1, 16, 1024])
def test_no_more_requests_are_in_flight_than_there_are_readers(nodes: int, file_samples: int, storage: str) -> None:
    setting = SETTING._replace(storage=storage, file_samples=file_samples, nodes=nodes)
    path = InputPath(setting)
    places = way_of(path)
    in_flight, readers = sum(place.requests for place in places), nodes * setting.readers
    waits = path.longest != "devices" and not (setting.local and path.longest == "links")
    assert in_flight == pytest.approx(readers) if waits else in_flight <= readers
    assert all(place.seconds >= 0 for place in places)
    steps = moments(places)
    assert len(steps) - 1 == way_steps(path)
    passed = [whole_seconds(places[: places.index(place)]) + share * place.seconds for place, share in steps]
    assert passed == sorted(passed)
    assert (passed[0], passed[-1]) == (0, pytest.approx(whole_seconds(places)))


def test_play_opens_the_way_and_a_full_cache_shuts_it() -> None:
    explorer = StorageExplorer()
    assert part(explorer, "Samples a second by nodes")
    explorer.set(step=1)
    assert explorer.values["watched"]
    assert "a request waits for metadata, with 482 others. Of its time 94% is waiting" in explorer.caption
    assert facts_of(explorer)["their product, in flight"] == "512"
    explorer.set(step=explorer.step_slider.max)
    assert "After 40.8 ms of 40.8 ms a request has its bytes under way" in explorer.caption
    explorer.set(cached_share=1.0)
    assert explorer.step_slider.disabled
    assert "nobody waits" in explorer.caption
