"""What the second page of chapter 11 says, as asserts: each block runs behind the cell that its head names."""

# after decode-run
import math

grows = 427 * 427 * 3 / mean(len(picture.image) for picture in pictures)
assert 8 < grows < 12  # decoded

# after decode-run clock
assert decode_s > 50 * read_s

# after ffcv
disk, memory = [row[3] for row in rows[:3]], [row[1] for row in rows[3:]]
assert max(disk) < 1.15 * min(disk) and rows[0][1] > 8 * rows[1][1] and round(memory[1] / memory[0], 1) == 5.5
assert 0.845e9 < min(disk) and max(disk) < 0.945e9

# after cache-hand
assert rows[0][1:] == (10, 10, 10, 10) and rows[1][1:] == (10, 1, 1, 1)

# after cache-curves
assert all(abs(law - found) < 0.02 for law, found in zip(exact, counted, strict=True))
assert all(abs(law - (1 - x) * (1 - math.log(1 - x))) < 0.02 for law, x in zip(exact, shares, strict=True))
assert round(0.5 * (1 - math.log(0.5)), 2) == 0.85
for c in (4, 20, 36):
    assert ours.count_misses(ours.LeastRecentlyUsed(c), ours.epochs_of(n, 3)) == [n] * 3
    assert ours.count_misses(ours.KeepFirst(c), ours.epochs_of(n, 3, seed=seed)) == [n, n - c, n - c]
published = ours.MLPERF_STORAGE[1]
storage = ours.CentralStorage("Lustre", 2.3e-3, 20_000, 100e9)
shards_of_200 = ours.InputSetup(storage, published.sample_bytes, 8 * published.batch / published.compute_s, 200)
for share, machines in ((0.0, 61), (0.5, 122)):
    setup = shards_of_200.but(cached_share=share)
    assert ours.gpus_busy(setup, machines) == 8 > ours.gpus_busy(setup, machines + 1)

# after buffer-law
assert all(math.isclose(moved, law, rel_tol=0.04) for _, moved, law, _ in rows[:-1])
assert rows[-1][1] < 0.95 * rows[-1][2] and 690 < rows[2][1] < 740
shuffled_order = random.Random(seed).sample(range(20_000), 20_000)
assert math.isclose(ours.mean_displacement(shuffled_order), rows[0][3], rel_tol=0.04)

# after buffer-pairs
by_name = {name: (moved, pairs) for name, moved, pairs in rows}
both, perfect = by_name["random shards, buffer of 1,000"], by_name["perfect"]
assert both[0] > 0.9 * perfect[0] and both[1] < 0.08
assert by_name["buffer of 1,000"][0] < 0.2 * perfect[0] and by_name["random shards"][1] > 0.8

# after tools-count
assert [row[1:] for row in rows.values()] == [[0, 0], [0, 0], [0, 3]]
dropped = [DistributedSampler(range(1797), num_replicas=4, rank=rank, drop_last=True) for rank in range(4)]
assert sum(map(len, dropped)) == 1796 and {len(list(sampler)) for sampler in by_rank} == {450}

# after score
assert math.isclose(of_means, 0.8, rel_tol=1e-6) and of_sums == 28 / 32
_, of_sums = simulate(scores, 4, args=([9.0, 9.0, 9.0, 0.0], [10.0, 10.0, 10.0, 0.0])).results[0]
assert math.isclose(of_sums, 0.9, rel_tol=1e-6)

# after index-run
assert together == [digits[number] for number in chosen]
assert round(rows[2][1]) == 134 and 2000 < rows[1][1] < 2200 and 100 * rows[2][3] < rows[1][3]
assert round(sum(len(sample.image) for sample in digits) / 1797) == 113

# after index-rest
assert cuts[-1] - cuts[0] == 1797 - 400 and len(cuts) == 4

# after text-rate
assert [round(row[1] / 1e9, 2) for row in rows[:1]] == [1.64] and rows[1][1] == 124_480
assert 13_000 < rows[0][1] / rows[1][1] < 13_400
from course_lib.mesh.published import TORCHTITAN_2024

assert TORCHTITAN_2024["8B"][0].tokens_per_s == 3890

# after worker-memory clock
assert gained["a list"] > 10e6 > 5e6 > gained["an array"]

# after tokens
assert pages == ours.pages_of_windows(numbers, 512) < 45

# after tokens clock
assert listed > 30e6 > 8e6 > mapped
assert None in read.values() or pages <= read[True] <= read[False]

# after store-load clock
by_clients = {clients: per_s for clients, per_s, *_ in rows}
assert max(by_clients.values()) < 410 and by_clients[4] > 2 * by_clients[1]

# after store-timeout clock
assert rows[1][2] < rows[1][1] / 2 < rows[1][4] and rows[1][1] < rows[1][3]

# after store-overload
gave_up, at_once, waited = rows.values()
assert 96 == at_once[0] == waited[0]

# after store-overload clock
assert gave_up[0] < 96 and waited[1] < at_once[1] and waited[4] > 3 * waited[3] and at_once[1] > 300

# after store-killed
assert store.kills == 1 and count.exactly_once and failed.total() > 0
assert all(body == (served / name).read_bytes() for name, body in samples)

# after herd-run
(_, every_tries, every_s), (_, doubled_tries, doubled_s), (_, drawn_tries, drawn_s) = rows
assert 3.3 < every_s < drawn_s < 4 < 16 < doubled_s < 17
assert doubled_tries > drawn_tries and drawn_tries < every_tries / 3
assert round(1 + (1000 - 64) / 400, 1) == 3.3
tries = simulate_outage(1000, herds["doubled"], down_s=1, operations_per_s=400, queue=64, seed=seed)
assert max(Counter(round(each.at_s, 3) for each in tries).values()) == 1000  # in step

# after network-table
assert all(max(row[2:5]) <= row[5] + 1e-9 for row in rows)
felt = {(name, p): taken > compute + 1e-3 for name, p, compute, _, _, taken in rows}
assert [name for (name, p), is_felt in felt.items() if is_felt and p == 16] == ["ResNet-50, decoded", "VGG-16, JPEG"]
assert felt["VGG-16, JPEG", 2] and not felt["ResNet-50, decoded", 2]
assert [round(0.3 * 1.25e9 / batch_bytes, 1) for batch_bytes in (38.5e6, 7.3e6)] == [9.7, 51.4]
