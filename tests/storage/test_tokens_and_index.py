"""Files of which any place can be read: tokens by a memory map, samples by a table of offsets."""

import pickle
import random
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from torch.utils.data import DataLoader

from course_lib import run
from course_lib.storage import (
    IndexedShards,
    Sample,
    TokenWindows,
    digit_samples,
    forget,
    pages_in_memory,
    pages_of_windows,
    read_shard,
    write_indexed,
    write_shards,
    write_tokens,
)


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    """100,000 tokens that say where they lie, as far as two bytes can."""
    return write_tokens(torch.arange(100_000) % 65_536, tmp_path / "tokens")


def test_windows_lie_one_after_the_other_and_targets_follow_their_inputs(tmp_path: Path) -> None:
    windows = TokenWindows(write_tokens(torch.arange(8), tmp_path / "eight"), 3)
    assert [[part.tolist() for part in windows[number]] for number in range(len(windows))] == [
        [[0, 1, 2], [1, 2, 3]],
        [[3, 4, 5], [4, 5, 6]],
    ]
    assert windows[0][0].dtype == torch.int64
    for number in (-1, 2):
        with pytest.raises(IndexError, match=f"from 0 to 1, got {number}"):
            windows[number]


@pytest.mark.parametrize(("tokens_in_all", "length", "windows"), [(2, 1, 1), (7, 3, 2), (8, 7, 1), (1000, 10, 99)])
def test_no_window_lacks_its_last_target(tmp_path: Path, tokens_in_all: int, length: int, windows: int) -> None:
    found = TokenWindows(write_tokens(torch.arange(tokens_in_all), tmp_path / "few"), length)
    assert len(found) == windows
    assert found[windows - 1][1][-1] == windows * length


def test_what_two_bytes_cannot_say_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="from 0 to 65,535, got 0 to 65,536"):
        write_tokens(torch.tensor([0, 65_536]), tmp_path / "large")
    with pytest.raises(ValueError, match="got -1 to 3"):
        write_tokens(torch.tensor([3, -1]), tmp_path / "negative")
    with pytest.raises(ValueError, match=r"whole numbers, got torch\.float32"):
        write_tokens(torch.tensor([1.5]), tmp_path / "half")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="more than length = 4 tokens, got 4"):
        TokenWindows(write_tokens(torch.arange(4), tmp_path / "short"), 4)


def test_the_largest_token_comes_back(tmp_path: Path) -> None:
    assert TokenWindows(write_tokens(torch.tensor([65_535, 0]), tmp_path / "two"), 1)[0][0] == 65_535


def test_a_pickled_dataset_is_its_path(tokens: Path) -> None:
    windows = TokenWindows(tokens, 512)
    message = pickle.dumps(windows)
    assert len(message) < 1000
    assert torch.equal(pickle.loads(message)[3][0], windows[3][0])


def test_workers_read_what_the_loader_asks_for(tokens: Path) -> None:
    windows = TokenWindows(tokens, 512)
    inputs, targets = next(iter(DataLoader(windows, batch_size=4, num_workers=1)))
    assert torch.equal(inputs.flatten()[1:], targets.flatten()[:-1])
    assert inputs.flatten().tolist() == list(range(4 * 512))


@pytest.mark.parametrize(
    ("numbers", "length", "pages"),
    [
        ([], 8, 0),
        ([0], 2047, 1),
        ([0], 2048, 2),
        ([0, 1, 2], 100, 1),
        ([0, 30], 100, 2),
        ([0, 40], 100, 3),
        ([1], 4096, 3),
    ],
)
def test_pages_by_hand(numbers: list[int], length: int, pages: int) -> None:
    assert pages_of_windows(numbers, length) == pages  # 2,048 tokens a page


def test_only_pages_that_are_looked_at_are_read(tokens: Path) -> None:
    if pages_in_memory(tokens) is None or not forget([tokens]) or pages_in_memory(tokens):
        pytest.skip("this system does not say or does not forget what it keeps of a file in memory")
    windows = TokenWindows(tokens, 512).expect_random_places()
    assert pages_in_memory(tokens) == 0
    numbers = random.Random(0).sample(range(len(windows)), 5)
    for number in numbers:
        windows[number]
    assert pages_in_memory(tokens) == pages_of_windows(numbers, 512)


def gained_bytes(comm, path: Path, in_a_list: bool) -> int:
    """What this rank has for itself more than before, once all have read everything."""
    windows, process = TokenWindows(path, 1000), psutil.Process()
    before = process.memory_full_info().uss
    kept = []
    for number in range(len(windows)):
        window = windows[number]
        if in_a_list:
            kept.append(window)
    comm.barrier()
    gained = process.memory_full_info().uss - before
    comm.barrier()  # whoever unmaps a page leaves it to the others alone
    return gained


@pytest.mark.alone
def test_ranks_share_one_copy_of_the_file(tmp_path: Path) -> None:
    path = write_tokens(torch.zeros(5_000_000, dtype=torch.int64), tmp_path / "large")
    TokenWindows(path, 1000).tokens.sum()
    mapped, listed = (run(gained_bytes, 2, (path, in_a_list)).results for in_a_list in (False, True))
    assert min(listed) > 39e6 > 5e6 > max(mapped)


@pytest.fixture
def digits() -> list[Sample]:
    return digit_samples(25)


def test_any_sample_by_its_number(tmp_path: Path, digits: list[Sample]) -> None:
    shards = IndexedShards(write_indexed(digits, tmp_path, 10))
    assert shards.lengths == [10, 10, 5]
    assert [shards[number] for number in range(25)] == digits
    order = random.Random(0).sample(range(25), 25)
    assert [shards[number] for number in order] == [digits[number] for number in order]
    assert pickle.loads(pickle.dumps(shards))[24] == digits[24]
    for number in (-1, 25):
        with pytest.raises(IndexError, match=f"from 0 to 24, got {number}"):
            shards[number]


@pytest.mark.parametrize("shard_samples", [1, 7, 25, 100])
def test_it_reads_its_tables_and_then_what_is_asked_for(
    tmp_path: Path, digits: list[Sample], shard_samples: int
) -> None:
    paths = write_indexed(digits, tmp_path, shard_samples)
    shards = IndexedShards(paths)
    tables = 8 * (25 + 2 * len(paths))
    assert shards.read_bytes == tables
    shards[12]
    assert shards.read_bytes - tables == len(b"00012.png\x00" + b"2\x00") + len(digits[12].image)
    for number in range(25):
        shards[number]
    one_more = len(b"00012.png\x00" + b"2\x00") + len(digits[12].image)
    assert shards.read_bytes - one_more == sum(path.stat().st_size for path in paths)


def test_samples_of_any_name_and_content_come_back_as_from_a_tar(tmp_path: Path) -> None:
    samples = [Sample("day-1.5/ü", b"", 0, "jpg"), Sample("b", bytes(range(256)) * 3, -7, "png")]
    tars = write_shards(samples, tmp_path / "tars", 2)
    indexed = IndexedShards(write_indexed(samples, tmp_path / "indexed", 2))
    assert [indexed[0], indexed[1]] == samples == [sample for path in tars for sample in read_shard(path)]


@pytest.mark.parametrize("kept", [4, 40, -1])
def test_a_torn_file_is_refused(tmp_path: Path, digits: list[Sample], kept: int) -> None:
    (path,) = write_indexed(digits, tmp_path, 100)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError, match="must have as many bytes as its table says, got"):
        IndexedShards([path])


def test_numbers_of_the_table_are_of_one_order_on_every_machine(tmp_path: Path) -> None:
    (path,) = write_indexed([Sample("a", b"xyz", 1)], tmp_path, 1)
    assert np.frombuffer(path.read_bytes()[:24], "<u8").tolist() == [1, 24, 24 + len(b"a.png\x001\x00xyz")]
    with pytest.raises(ValueError, match="shard_samples must be at least 1, got 0"):
        write_indexed([], tmp_path, 0)
