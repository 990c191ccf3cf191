"""The storage explorer: what it shows is what the model of chapter 11 says."""

import pytest

from course_lib.storage import LIMITS, CentralStorage, InputSetup, samples_per_s
from course_lib.widgets import StorageExplorer
from course_lib.widgets.storage.model import BATCH, FILE_SAMPLES, NODES, STORAGES, InputPath, StorageSetting
from course_lib.widgets.storage.panels import describe_input, pictures

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
    assert STORAGES["Lustre"] == CentralStorage("Lustre", 2.3e-3, 12_556.6, pytest.approx(103.9e9, rel=1e-3))
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
