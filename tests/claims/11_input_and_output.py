"""What the lecture of chapter 11 says, as asserts: each block runs behind the cell that its head names."""

# after setup
import math
from math import isclose

assert h100.accelerator == "H100" and (h100.batch, h100.compute_s, round(h100.sample_bytes / 1e3)) == (400, 0.224, 115)
assert round(wanted_per_s) == 14_286 and round(wanted_per_s * h100.sample_bytes / 1e9, 2) == 1.64
assert h100.threshold == 0.9 and isclose(0.9 * 8, 7.2)
from course_lib.widgets.storage import STORAGES

assert STORAGES["Lustre"] == storage and ours.FILE_SYSTEMS["Lustre"].open_s == storage.open_s  # the explorer's

# after stake-run
local, lustre = rows
assert (round(lustre[3]), round(local[3])) == (424, 14_635) and local[3] > wanted_per_s
assert lustre[1] > 40 * lustre[2] and ours.FILE_SYSTEMS["local NVMe"].open_s == 11e-6

# after bars-loop
assert isclose(busy["one reader"], 8 * lustre[3] / wanted_per_s) and round(busy["one reader"], 2) == 0.24

# after threads
assert len(digits) == len(files) == 1797

# after threads clock
rates = [per_s for _, per_s in rows]
assert all(1.5 < rates[number + 1] / rates[number] < 2.8 for number in range(3))

# after near clock
assert rows["4 threads"] < rows["a loop"]

# after little
assert [round(row[3]) for row in rows] == [34, 44] and 33 < rows[0][3] < 34
jpeg = next(rate for rate in ours.FFCV_RATES if (rate.source, rate.form) == ("memory", "JPEG, 512 px"))
assert jpeg.images_per_s == 31_278
requests = [(0.0, 2.0), (1.0, 3.0), (3.0, 4.0), (3.5, 9.0)]
flow = ours.flow_of(requests)  # counts who is in flight, moment by moment
assert isclose(flow.in_flight, flow.per_s * flow.latency_s)

# after bars-little
assert busy["34 readers"] == 8 and ours.gpus_busy(loop.but(readers=33), 1) < 8

# after bars-cluster
assert round(busy["34 readers, 16 machines"], 2) == 0.7
assert round(16 * wanted_per_s) == 228_571 and round(16 * 34 / 20_000 * 1e3) == 27
assert round(loop.file_s * 1e3, 1) == 2.4
assert ours.gpus_busy(loop.but(readers=1000), 16) == busy["34 readers, 16 machines"]  # more readers do not help

# after shard
assert len(shards) == 18 and rows[0][2] - rows[0][1] == 512 and rows[1][1] == 1024  # a header, and filled up
assert [sample for path in shards for sample in ours.read_shard(path)] == list(map(ours.read_file, files)) == digits
from unittest.mock import patch

with patch("builtins.open", side_effect=open) as opens:  # one open for a hundred samples
    assert list(ours.read_shard(shards[0])) == digits[:100]
assert opens.call_count == 1

# after torn
assert whole == digits[: len(whole)] and len(whole) == 52
for end in range(0, len(content) - 10_240, 997):  # wherever it ends
    try:
        list(ours.unpack_shard(content[:end]))
        raise AssertionError(f"a shard of {end} bytes is torn")
    except ours.TornShard:
        pass

# after readers
one, twelve, two_hundred, published = rows
assert 0.9 < two_hundred[2] < 1 and ours.gpus_busy(loop.but(samples_per_file=200), 16) == 8
assert round(200 * h100.sample_bytes / 2e9 * 1e3, 1) == 11.5 and round(1251 * h100.sample_bytes / 1e6) == 143
assert round(two_hundred[1] * 1e3, 1) == 13.8 and round(200 * h100.sample_bytes / two_hundred[1] / 1e9, 2) == 1.67
assert twelve[3] < 20_000 < 12 / 11 * twelve[3] and h100.samples_per_file == 1251

# after machines
assert busy["shards, 16 machines"] == 8 == ours.gpus_busy(loop.but(samples_per_file=200), 61)
assert ours.gpus_busy(loop.but(samples_per_file=200), 62) < 8
assert loop.but(samples_per_file=200).first_limit(62) == "bandwidth"
runs = {each.workload: each for each in ours.MLPERF_STORAGE}
opens = [each.samples_per_s / each.samples_per_file for each in ours.MLPERF_STORAGE]
assert runs["CosmoFlow"].accelerators * runs["CosmoFlow"].readers == 256 and round(opens[3]) == 12_557
delivered = [each.samples_per_s * each.sample_bytes / 1e9 for each in ours.MLPERF_STORAGE[:3]]
assert 82.5 < min(delivered) and max(delivered) < 104.5 and max(opens[:3]) < 1000
halved = loop.but(samples_per_file=200, cached_share=0.5)  # the explorer's answer
assert [round(ours.gpus_busy(halved.but(cached_share=share), 128), 1) for share in (0, 0.5, 0.75)] == [3.8, 7.6, 8]
assert ours.gpus_busy(loop.but(samples_per_file=100), 16) < 8

# after order
assert accuracy["as they lie"] < 0.3
assert accuracy["(a) random shards"] + 0.01 < accuracy["(b) random shards, buffer of 100"]
assert accuracy["(b) random shards, buffer of 100"] + 0.01 < accuracy["(c) shuffled once, then written"]
assert abs(accuracy["perfect shuffle"] - accuracy["(c) and random shards"]) < 0.015
assert accuracy["(c) shuffled once, then written"] < accuracy["(c) and random shards"] + 0.005
ten = {}
for name in list(ways)[1:4]:
    ten[name] = np.array([train_in_order(images, **ways[name], seed=draw) for draw in range(seed, seed + 10)])
for worse, better in ((0, 1), (1, 2)):  # any five of ten seeds: also the five that differ least
    assert sum(sorted(list(ten.values())[better] - list(ten.values())[worse])[:5]) > 0
assert round(1_281_167 / 4 * h100.sample_bytes / 1e9) == 37
of_400 = [train_in_order(images, shuffle_shards=True, buffer=400, seed=draw) for draw in range(seed, seed + 5)]
assert 0.93 < sum(of_400) / 5 < 0.96 and 400 / 1437 > 0.25
classes = images.train_labels.sort().values
met = {1: [], 100: []}  # classes in a batch
for buffer, found in met.items():
    for draw in range(seed, seed + 5):
        order = ours.epoch_order(1437, 48, shuffle_shards=True, buffer=buffer, seed=draw)
        found += [len(classes[order[first : first + 32]].unique()) for first in range(0, 1437, 32)]
assert sum(count <= 2 for count in met[1]) / len(met[1]) > 0.75 and 5.5 < sum(met[100]) / len(met[100]) < 6.7

# after hang
said = {}
for epochs in (1, 2, 3):
    try:
        simulate(train, 4, args=(steps, epochs))
    except DeadlockError as error:
        said[epochs] = str(error).splitlines()[-1]
assert steps == [10, 7, 7, 7]
for epochs, words in said.items():
    assert f"begun: {7 * epochs}, by ranks 1, 2, 3; most: {7 * epochs + 1}" in words
alike = {ranks: len(set(ours.rank_steps(ours.split_shards([100] * 9, ranks), 32))) for ranks in (3, 5)}
assert alike == {3: 1, 5: 2}

# after cut
assert [row[2] for row in rows] == [224, 224, 224, 225] and sum(map(len, parts)) <= 9 + 3

# after equal-steps
assert full_batches == [7, 7, 7, 8] and equal == [8] * 4
assert {size for of_rank in sizes for size in of_rank} == {28, 29}
try:
    simulate(train, 4, args=(full_batches, 1))
    raise AssertionError("one sample too many hangs")
except DeadlockError:
    pass

# after slow
assert [round(row[1], 3) for row in rows] == [0.05, 0.337, 0.999] and round(rows[2][3], 1) == 1
assert isclose(0.05 * 1.5 + 0.95 * 0.1, 0.17)
files_of_a_step = 8 * 400 / 200  # of all GPUs of a machine, read by two
assert round(files_of_a_step * loop.but(samples_per_file=200).file_s / 2, 1) == 0.1


def without_a_queue(comm, load_s):  # played
    for of_ranks in load_s:
        comm.compute(of_ranks[comm.rank] + 0.224)
        comm.barrier()
    return comm.now() / len(load_s)


drawn_s = np.where(np.random.default_rng(seed).random((200, 8)) < 1 / 20, 1.5, 0.1).tolist()
assert abs(max(simulate(without_a_queue, 8, (drawn_s,), ranks="greenlets").results) / rows[1][2] - 1) < 0.25

# after loop-run
assert count.exactly_once and len({row[1] for row in rows}) == 1
assert max(row[2] for row in rows) - min(row[2] for row in rows) <= 1
for epoch in (0, 1):
    for ranks in (1, 2, 3, 5, 7):
        of_ranks = ours.split_samples(lengths, ranks, epoch)
        assert len({len(sizes) for sizes in ours.step_batches(of_ranks, 32)}) == 1
assert ours.split_samples(lengths, 3, 0) != ours.split_samples(lengths, 3, 1)

# after depth
alone, chance, _ = (dict(zip(depths, line[1], strict=True)) for line in lines.values())
assert alone[6] > 7.95 > alone[4] and 6 < 1.5 / 0.224 < 7
assert of_128[6] < 5 < 7.3 < chance[6] and of_128[32] > 7.2 and round(of_128[6], 1) in (4.5, 4.6)
for draw in range(seed, seed + 6):
    slow = np.random.default_rng(draw).random((1000, 128)) < 1 / 20
    seconds = ours.overlapped_seconds(list(np.where(slow, 1.5, 0.1)), [0.224] * 1000, 32)
    assert 8 * 224 / seconds > 7.2
for depth in (1, 100):  # an average is not helped
    assert 5.9 < 8 * 0.224 * 400 / ours.overlapped_seconds([0.3] * 400, [0.224] * 400, depth) < 6
assert round(32 * 400 * 115e3 / 1e9, 1) == 1.5 and round(8 * 32 * 400 * 115e3 / 1e9) == 12
assert round(32 * 400 * 224 * 224 * 3 / 1e9, 1) == 1.9

# after bars-queue
assert list(busy.values())[:6] == [busy["one reader"], 8, busy["34 readers, 16 machines"], 8, 0, 8]
assert round(busy["slow loads, no queue"], 1) == 1 and busy["a queue of 32"] > 7.2
tens = ours.rank_steps(ours.split_shards([64] * 10, 4), 32)  # check yourself
assert tens == [6, 6, 4, 4] and math.ceil(5000 / 2000) == 3 and isclose(5000 * 0.002, 10)
for shuffled in (False, True):
    order = ours.epoch_order(100_000, 1000, shuffle_shards=shuffled, buffer=1000, seed=seed)
    met = [len({number // 1000 for number in order[first : first + 32]}) for first in range(0, 100_000, 32)]
    assert 4 < sum(met) / len(met) < 5
assert round(1000 * 0.2 / ours.overlapped_seconds([0.25] * 1000, [0.2] * 1000, 100), 2) == 0.8

# after explorer
words = StorageExplorer().in_words
assert "1 machine, 1 reader each" in words and "0.24 of 8 GPUs are busy" in words
assert "all 8 GPUs" in StorageExplorer(machines=16, file_samples=200).in_words
assert "all 8 GPUs" not in StorageExplorer(machines=16, file_samples=100).in_words
played = StorageExplorer(machines=16, readers=34, watched=True, step=4).in_words
assert "Of its time 91% is waiting in a queue" in played
