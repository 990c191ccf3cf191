"""What the page '12 · When machines fail' says, asserted: a block behind each cell that shows it."""

# after stake-years
assert 5 < rows[0][1] / year_s < 6 and 3 < rows[3][1] / 3600 < 3.2

# after stake-causes
assert sum(ours.LLAMA_3_CAUSES.values()) == llama.failures and ours.LLAMA_3_CAUSES["silent data corruption"] == 6
assert sum(count for cause, count in causes if "GPU" in cause) > llama.failures / 2

# after state-forget-run
assert state_hash(whole.model) not in hashes
assert [row[1] for row in rows] == [31, 32, 32, 32, 31, 31, 31, 31]
assert rows[0][3] > 0.5 > max(abs(row[3]) for row in rows[1:])
order = ours.DataOrder(len(digits.train_labels), batch_size=64, seed=seed)  # begins again: 30 steps are made twice
assert set(Counter(image for _ in range(30) for image in order.next_batch().tolist()).values()) == {1, 2}

# after naive-save
assert len(content) == 1500 and b"old" not in content

# after folder-damaged
assert checkpoints.whole_steps() == [30, 40]

# after kills-run
assert trained.weights == untouched.weights and trained.lost == 0
assert vain <= 6 * len(trained.lives)
assert all(life.died_at - life.ended_at == 5 for life in trained.lives if life.in_a_save)

# after hangs-run
failed, hung, waited = words.values()
assert failed[0][0] == 2 and "image 17" in failed[0][2]
assert all("onnection" in row[2] or "roken pipe" in row[2] for row in failed[1:])
assert all(row[2] == "done" for row in waited)

# after hangs-run clock
assert hung[-1][0] == 2 and all("Timed out" in row[2] and row[1] < 1 <= row[3] for row in hung[:3])
assert hung[-1][1] > 1.9 and ("onnection" in hung[-1][2] or "roken pipe" in hung[-1][2])
assert all(row[3] > 1.9 for row in waited)

# after hangs-barrier clock
assert "Ranks 2 failed to pass" in missing

# after day-one-run clock
assert held["read whole"] > 75 and held["mmap=True"] < 30

# after day-one-names
assert [row[1] for row in rows] == ["weight", "module.weight", "_orig_mod.weight"]
assert all(row[2] == "weight" for row in rows)
free = dist.TCPStore("127.0.0.1", 0, is_master=True).port
assert free != store.port

# after weight-table
assert 2e12 / 50e9 == 40 and 12 < each < 12.01 and math.isclose(rows[2][4], 2.43) and 5e-3 < rows[2][5] < 7e-3

# after interval-curve
assert all(math.isclose(a, b, abs_tol=5) for a, b in zip(wasted, drawn, strict=True))
daly_min = [ours.daly_interval_s(5, mtbf_min) for mtbf_min in (24 * 60, 6 * 60, 15)]  # all in minutes
assert [round(daly_min[0]), round(daly_min[1]), round(daly_min[2], 1)] == [117, 57, 9.1]
best_min = ours.best_interval_s(6, 60)
misses = [formula(6, 60) / best_min - 1 for formula in (ours.young_interval_s, ours.daly_interval_s)]
assert 0.16 < misses[0] < 0.175 and abs(misses[1]) < 0.001 and 0.33 < ours.waste(best_min, 6, 60) < 0.4
least, *around = (ours.waste(young_s * factor, save_s, mtbf_s, restart_s) for factor in (1, 0.5, 2))
assert 0.14 < least < 0.16 and round(100 * (least - ours.waste(young_s, save_s, mtbf_s))) == 5
assert all(0.015 < each - least < 0.035 for each in around)

# after interval-llama
assert rows[2][1] > 0.9 > rows[2][2] and rows[3][1] < 0.9
assert math.isclose(0.1 * 54 * 24 * hour / llama.failures, 18.6 * minute, rel_tol=0.005)

# after interval-meta
assert all(0.97 < row[3] < 1.03 for row in rows[2:]) and all(3 < row[3] < 4 for row in rows[:2])
opt = ours.OPT_175B
assert 13 < opt.mtbf_s / hour < 14 and 3 < llama.gpu_mtbf_years / opt.gpu_mtbf_years < 5

# after goodput
assert all(math.isclose(sum(row[1:5]), 1, abs_tol=1e-6) and abs(row[1] - row[6]) < 0.04 for row in rows)
assert 0.7 < rows[0][6] < 0.73 and rows[1][6] > 0.9 and rows[0][6] - rows[0][5] > 0.02

# after background-run clock
assert rows["blocks"][0] > 0.19 and rows["beside, every 20 steps"][0] < 0.1

# after background-torn
assert seen[0] == [0, 0]

# after background-torn clock
assert seen[1][0] != seen[1][1]

# after async-save-run clock
assert rows["save"] > 0.4 > 1.5 * max(rows["async_save"], rows["ours, around save"])

# after neighbor-table
assert again == never and abs(numbers - 3 * psi / ranks) < 10

# after placing
assert math.isclose(rows[1][1], 2 / 15) and math.isclose(rows[1][2], 1 / 15) and all(r > p for _, r, p in rows[1:])
assert 0.95 < 1 - ours.waste(10.0, 0.0, large_s, 5 * minute) < 0.96
for n in (4, 6, 30):
    assert math.isclose(ours.lost_share([(m, (m + 1) % n) for m in range(n)], 2), 2 / (n - 1))
    assert math.isclose(ours.lost_share([(m, m ^ 1) for m in range(n)], 2), 1 / (n - 1))

# after shards-pieces
assert [row[1:4] for row in rows if row[0] == 1] == [(1, 1, 3), (2, 0, 1)]

# after shards-run
hashes = {name: row[-1] for name, row in rows.items()}
assert hashes["saved"] == hashes["read by fewer"] and rows["read by fewer"][1] == 8
assert hashes["trained on by as many"] == hashes["never stopped"]
assert (hashes["trained on by fewer"] == hashes["never stopped"]) == (world_size == 1)


def gradient_of(*parts):
    """Of a batch, as partial sums."""
    model, images = digits_model(seed), sum(len(labels) for _, labels in parts)
    for inputs, labels in parts:
        (nn.functional.cross_entropy(model(inputs), labels, reduction="sum") / images).backward()
    return model[0].weight.grad


drawn = [next(digit_batches(32, rank=rank, seed=seed, digits=digits)) for rank in range(4)]
inputs, labels = map(torch.cat, zip(*drawn, strict=True))
four, thirds = gradient_of(*drawn), zip(inputs.chunk(3), labels.chunk(3), strict=True)
assert (gradient_of(*thirds) - four).abs().max() < 1e-6 < 1e-4 < (gradient_of(*drawn[:3]) - four).abs().max()

# after shards-rank-0
assert said == "done"

# after elastic-run
assert torchrun[-1].world_size == 2 and [step.step for step in counted] == list(range(1, 33))
assert sorted(example for step in counted for example in step.examples) == list(range(512))

# after sampler-count
assert [row[3:] for row in rows] == [(320, 1), (80, 1), (0, 0), (240, 0), (0, 80), (0, 0)]


# after delivery-naive
def sums(**shares):
    """What comes to the server over wires that do one of the three only."""
    one = [protocols.SendOnce(numbers), protocols.KeepAll, protocols.LossyWire(**shares, latency_s=0.05)]
    return [sum(protocols.deliver(one[0], one[1](), one[2], seed=row[0]).delivered) for row in rows]


assert max(sums(lose=0.5)) < 5050 < min(sums(double=0.5)) and set(sums(delay=1.0)) == {5050}

# after delivery-property
assert all(right)

# after delivery-cost
assert all(math.isclose(row[2], row[1], rel_tol=0.08) for row in rows)
assert rows[-1][1] == 4

# after delivery-window
ends = {name: (times[0], times[3] / times[0]) for name, (_, times) in lines.items()}
assert math.isclose(ends["window of 102"][0], 1.101, rel_tol=0.01)
assert math.isclose(ends["window of 1"][0], 102)
assert ends["window of 1"][1] < 2 < 4 < ends["window of 102"][1]
assert 5 * ends["window of 102"][0] * (ends["window of 102"][1] - 1) < 102 * (ends["window of 1"][1] - 1)  # seconds

# after delivery-bit
assert list(rows.values())[:2] == [0, 0] and rows["loses 30%, delays 30%"] > 0

# after slow-factors
assert [row[2] for row in rows] == [8, 24, 24]
assert all(math.isclose(a, 10, rel_tol=1e-9) for a in (*rows[0][3:], *rows[1][4:]))
assert 5 < rows[1][3] < 7 and 3 < rows[2][3] < 3.5 and 3 < rows[2][4] < 3.5 and 8 < rows[2][5] < 8.5
assert [rank for rank in range(8) if by_rank[rank] < 4] == [0, 7] and min(by_rank[1:7]) > 7.9  # of the trees


def most_bytes(all_reduce):
    messages = simulate(all_reduce, 8, (torch.zeros(1_000_000, device="meta"),)).trace.messages
    return max(sum(m.message_bytes for m in messages if (m.src, m.dst) == link) for link in links)


assert most_bytes(double_tree_all_reduce) == most_bytes(halving_doubling_all_reduce) < most_bytes(ring_all_reduce)


# after slow-waits
def never(waits):
    return [rank for rank in range(8) if abs(waits[rank]) < 1e-9]


assert [never(waits) for waits in (in_ring, by_rank, in_tree)] == [[0, 1], [2, 3, 4], []]
rings = [waits_s(ring_all_reduce, slow_links={(0, 1): factor}) for factor in (2.0, 2.1)]
assert [never(waits) for waits in rings] == [list(range(8)), [0, 1]]
assert not any(never(waits_s(double_tree_all_reduce, slow_links={link: 10.0})) for link in links)
for p in (3, 4, 5, 16):
    ill = Network(1e-4, 1e9, stragglers={1: 10.0})
    waits = simulate(ring_all_reduce, p, (torch.zeros(1_000_000, device="meta"),), network=ill).trace.waiting_s
    assert [rank for rank in range(p) if abs(waits[rank]) < 1e-9] == ([1] if p == 3 else [0, 1, 2])

# after slow-find clock
assert found == ({(0, 1)} if world_size > 1 else set())

# after slow-around clock
assert world_size < 3 or rows["in order"] > 5 * rows["around the link"]

# after flip-bits
assert lines["right after"][1][30] == 1e3
assert sum(abs(change) < 0.1 for change in at_30) >= 5
others = sorted(max(map(abs, after[:30])) for after, _ in runs)
assert others[4] < 0.05 and others[6] < 0.1
assert max(lines["right after"][1][:10]) < 1e-5

# after flip-hashes
assert not any(verdicts[ranks, "as it is computed"].wrong for ranks in (2, 3))
assert verdicts[3, "in the weights"].rank == 1 and verdicts[2, "in the weights"] == (True, None)

# after flip-table
seen = [[said != "–" for said in says] for _, *says in rows]
low = [simulate(experiments.corrupted_step, 3, (digits, "in the buffer"), {"bit": bit}) for bit in (0, 7, 8, 31)]
assert [report.results[0][experiments.CHECKS[1]].wrong for report in low] == [False, False, True, True]
assert all(map(any, seen)) and not any(map(all, zip(*seen, strict=True)))

# after storm-calm
lowest = {design: min(row) for design, row in rows.items()}
without_spare = [lowest[design] for design in ("all-reduce", "asynchronous server", "gossip")]
assert max(without_spare) < lowest["one machine alone"] > lowest["all-reduce"] / 0.7
assert rows["gossip"][0] < rows["asynchronous server"][0] < rows["2 backup workers"][0]
assert best["one machine alone"] < best["all-reduce"]

# after storm-run
ends = {design: [each.loss[-1] for each in tries] for design, tries in storms.items()}
lower = {design: [a < b for a, b in zip(losses, ends["all-reduce"], strict=True)] for design, losses in ends.items()}
assert all(sum(lower[design]) >= 4 for design in ("asynchronous server", "gossip"))
assert sum(a < b for a, b in zip(ends["gossip"], ends["one machine alone"], strict=True)) >= 4
kept = [row[-1] for row in rows[:4]]
assert kept == sorted(kept) and kept[0] < 1 / 3 < 0.7 < kept[3]
