"""What the page '11 · Input and output' says, asserted: a block behind each cell that shows it."""

# after stake
assert rows[0][2] > 8 and rows[1][2] < 1

# after homes
assert [sample for path in shards for sample in ours.read_shard(path)] == list(map(ours.read_file, files)) == digits
assert max(len(sample.image) for sample in digits) <= 512  # one block

# after open-cost clock
assert 0 < half_bytes < 3 * max(by_size)

# after open-draw clock
assert rates[-1] > 4 * rates[0]
tiny, small, *_ = by_size.values()
assert 0.6 < tiny.samples_per_s / small.samples_per_s < 1.6

# after order
from unittest.mock import patch

for way, many in {"files": 400, "shards": 4}.items():  # one open for a hundred samples
    with patch("builtins.open", side_effect=open) as opens:
        assert list(ways[way]()) == digits[:400]
    assert opens.call_count == many

# after order clock
assert not from_disk or rates["shards"][1] > rates["files"][1]

# after workers clock
loop = rows[0][1]
assert loop > max(near for _, near, _ in rows[1:]) and rows[4][2] > 2 * rows[0][2]
assert loop > 2 * rows[1][1] and rows[3][2] > 2.5 * rows[0][2]

# after little
assert math.isclose(flow.in_flight, flow.per_s * flow.latency_s, rel_tol=1e-6) and flow.in_flight <= 8

# after little clock
assert flow.in_flight > 4
twice = ours.read_with_workers(lambda path: (timed(path)[0], timed(path)[1]), files[:400], 8)  # two opens in a row
slower = ours.flow_of(list(twice))
assert abs(slower.in_flight - flow.in_flight) < 2 and 1.4 < flow.per_s / slower.per_s < 2.8

# after lustre
assert 0.19 < opens_s / took_s < 0.2

# after buffer-law
assert all(math.isclose(moved, law, rel_tol=0.04) for _, moved, law, _ in rows[:-1])
assert rows[-1][1] < 0.95 * rows[-1][2]
shuffled = random.Random(seed).sample(range(20_000), 20_000)
assert math.isclose(ours.mean_displacement(shuffled), rows[0][3], rel_tol=0.04)

# after poor-order
assert rows["as they lie"][2] < 0.4 and rows["buffer of 100"][2] < 0.7 < rows["random shards"][2]
assert rows["random shards"][2] + 0.04 < min(rows[name][2] for name in ("and of 400", "perfect", "shuffled, written"))
assert rows["random shards"][2] < rows["random shards, buffer of 100"][2] < rows["and of 400"][2]
assert max(rows["perfect"][2] - rows[name][2] for name in ("and of 400", "shuffled, written")) < 0.02
nines = tensors.test_labels == 9  # seen last
last = tensors._replace(test_inputs=tensors.test_inputs[nines], test_labels=tensors.test_labels[nines])
assert all(train_in_order(last, shuffle_shards=False, buffer=1, seed=each) > 0.9 for each in range(seed, seed + 5))
classes = tensors.train_labels.sort().values
orders = [ours.epoch_order(1437, 48, shuffle_shards=True, buffer=1, seed=each) for each in range(seed, seed + 5)]
met = [len(classes[order[first : first + 32]].unique()) for order in orders for first in range(0, 1437, 32)]
assert mean(each <= 2 for each in met) > 0.8

# after index
assert together == [digits[number] for number in chosen]
assert rows[2][1] < 150 < 2048 < rows[1][1] < 2200 and 100 * rows[2][3] < rows[1][3]

# after uneven
try:
    said = str(simulate(steps_with_all_reduce, 4, args=([2 * number for number in steps],)))  # two epochs in a row
except DeadlockError as error:
    said = str(error)
assert "fewest collectives begun: 14, by ranks 1, 2, 3; most: 15" in said

# after split-run
assert count.exactly_once and max(map(len, seen)) - min(map(len, seen)) <= 1
for p in range(1, 40):
    parts = ours.split_samples(lengths, p)
    assert sum(map(len, parts)) <= len(lengths) + p - 1

# after equal-steps-of-all
assert set(steps) == {8}

# after prefetch-table
assert all(math.isclose(law_s, load + 14 * max(load, compute) + compute) for load, compute, _, law_s, _ in rows)
one = [ours.overlapped_seconds([load] * 15, [compute] * 15, depth=1) for load, compute, *_ in rows]
assert all(math.isclose(law_s, one_s) for (*_, law_s, _), one_s in zip(rows, one, strict=True))

# after prefetch-table clock
assert all(law_s - 1e-3 < took_s for *_, law_s, took_s in rows)

# after depth-run
assert regular[0] > 0.15 and regular[3] < 0.01
assert 0.03 < random_places[3] < 0.08 and random_places[7] < 0.02
nine, ten = ([0.2 if batch % k == k - 1 else 0.01 for batch in range(400)] for k in (9, 10))
assert waiting(ten, 6) < 0.01 < waiting(ten, 5) and waiting(nine, 6) > 0.03
slower = [0.3 if batch % 10 == 9 else 0.01 for batch in range(400)]  # 39 ms on average
assert waiting(slower, 1) > waiting(slower, 32) > 0.2

# after slowest
assert all(abs(waited_s / law_s - 1) < 0.2 for _, _, waited_s, law_s, *_ in rows)
alone, *_, many = rows
assert many[3] > 4 * alone[3] and many[4] > 1.3 * alone[4] and many[5] < 1.15 * alone[5]

# after cache-hand
assert rows[0][1:] == (10, 10, 10, 10) and rows[1][1:] == (10, 1, 1, 1)

# after cache-curves
assert all(abs(law - found) < 0.02 for law, found in zip(exact, counted, strict=True))
assert all(abs(law - (1 - x) * (1 - math.log(1 - x))) < 0.02 for law, x in zip(exact, shares, strict=True))
for c in (4, 20, 36):
    assert ours.count_misses(ours.LeastRecentlyUsed(c), ours.epochs_of(n, 3)) == [n] * 3
    assert ours.count_misses(ours.KeepFirst(c), ours.epochs_of(n, 3, seed=seed)) == [n, n - c, n - c]

# after store-load clock
assert all(per_s < 1.1 * computed for _, computed, per_s, *_ in rows) and rows[3][2] > 2 * rows[0][2]
assert rows[2][2] > 2 * rows[0][2]  # four clients

# after store-shards
assert link_per_s / 32 < 400 / 8

# after store-shards clock
assert max(from_files.values()) <= 400 and 1.5 * from_files[8] < from_shards[8] < 1.05 * link_per_s
assert from_shards[8] > 0.7 * link_per_s

# after beside
lost = [(link_per_s / 32 - by_turns) * turns_s for _, turns_s, _, by_turns, _ in rows[1:]]
assert all(math.isclose(each, 5, rel_tol=1e-3) for each in lost)  # by turns both take five shards from readers

# after beside clock
assert min(took_s for _, _, took_s, *_ in rows[1:]) > five / 20e6
assert max(came for *_, came in rows) < 1.05 * link_per_s / 32
assert rows[1][2] < rows[2][2]  # whole, it is there sooner

# after store-timeout-run clock
assert rows[1][2] < rows[1][1] / 2 < rows[1][4]
assert rows[1][1] < rows[1][3]

# after store-overload-run
gave_up, at_once, waited = rows.values()
assert 96 == at_once[0] == waited[0]

# after store-overload-run clock
assert gave_up[0] < 96 and waited[1] < at_once[1] and waited[4] > 3 * waited[3]

# after store-herd
every, doubled, drawn = rows.values()
assert 3.3 < every[1] < drawn[1] < 4 < 16 < doubled[1]
assert doubled[0] > drawn[0] and doubled[2] < drawn[2] < every[2] / 3
assert all(abs(each[3] - 3.8) < 0.5 for each in (every, doubled, drawn))
halves = [simulate_outage(1000, herds[name], **server, spread_s=0.5) for name in ("doubled", "doubled, drawn")]
long_s, short_s = (max(each.at_s for each in tries) for tries in halves)
assert long_s > short_s + 0.5
assert max(came["doubled"].values()) == 1000 > 3 * max(came["doubled, drawn"].values())

# after central-table
assert small.first_limit(1) == "metadata"
assert [setups["shards"].first_limit(n) for n in (63, 64)] == ["devices", "storage bandwidth"]
assert [setups["shards, half in a local cache"].first_limit(n) for n in (126, 127)] == ["devices", "storage bandwidth"]

# after mlperf
assert all(each.threshold - 0.02 < busy < 1 for each, (*_, busy) in zip(ours.MLPERF_STORAGE, rows, strict=True))
assert all(row[1] > 80e9 for row in rows[:3]) and rows[3][1] < 40e9 and rows[3][2] > 15 * rows[1][2]
assert all(abs(busy - each.threshold) < 0.025 for each, (*_, busy) in zip(ours.MLPERF_STORAGE, rows, strict=True))

# after shared-table
assert all(max(row[2:5]) <= row[5] + 1e-9 for row in rows)
felt = {(name, p): taken_s > compute_s + 1e-3 for name, p, compute_s, _, _, taken_s in rows}
assert not any(felt["ResNet-50, JPEG", p] for p in (2, 8, 16)) and all(
    felt["VGG-16, JPEG, 0.3 s", p] for p in (2, 8, 16)
)
assert not felt["VGG-16, JPEG, 0.6 s", 2] and felt["VGG-16, JPEG, 0.6 s", 8]
limits = [round(0.3 * 1.25e9 / batch_bytes, 1) for batch_bytes in (38.5e6, 64 * 224 * 224 * 3, 7.3e6)]
assert limits == [9.7, 38.9, 51.4]
alone = SharedStep(553_000_000, 1, 0.3)  # with no batch to speak of a ring takes what its own port does
alone_s = max(simulate(train_beside_storage, 9, args=(alone, 3, "meta"), network=ethernet).results)
assert math.isclose(alone_s, max(shared_step_seconds(alone, 8, ethernet).values()), rel_tol=1e-3)

# after shared-emulated clock
assert 0.8 < real_s / virtual_s < 1.5

# after tools
assert [row[1:] for row in rows.values()] == [[0, 0], [0, 0], [0, 3]]
dropped = [DistributedSampler(range(1797), num_replicas=4, rank=rank, drop_last=True) for rank in range(4)]
assert sum(map(len, dropped)) == 1796

# after score
assert math.isclose(of_means, 0.8, rel_tol=1e-6) and of_sums == 28 / 32
_, of_sums = simulate(scores, 4, args=([9.0, 9.0, 9.0, 0.0], [10.0, 10.0, 10.0, 0.0])).results[0]
assert math.isclose(of_sums, 0.9, rel_tol=1e-6)

# after decode
assert 8 < grows < 12

# after decode clock
assert decode_s > 20 * read_s

# after ffcv
disk, memory = [row[3] for row in rows[:3]], [row[1] for row in rows[3:]]
assert max(disk) < 1.15 * min(disk) and rows[0][1] > 8 * rows[1][1] and memory[1] > 5 * memory[0]

# after worker-memory clock
assert gained["a list"] > 15e6 > 5e6 > gained["an array"]

# after tokens clock
assert listed > 30e6 > 8e6 > mapped
assert None in read.values() or pages <= read[True] <= read[False]

# after explore-answers
assert math.ceil(16 * 10_000 / 12_557) == 13
assert "waited for waiting for opens" in seen(**shop) and "together 3,413 samples" in seen(**shop)  # of 5,500
assert ours.needed_in_flight(10_000 / 50, 0.15) == 30 and "storage exhausted never" in seen(**disk, nodes=1024)
