"""What the second page of chapter 06 says, as asserts: each block runs behind the cell that its head names."""

# after interleaved-draw
from math import isclose

assert (flush.makespan_s - 24, chunked.makespan_s - 24) == (9, 4.5)
for p, m, v in [(2, 4, 2), (3, 6, 2), (4, 8, 3), (5, 5, 4)]:
    schedule = ours.interleaved(p, m, chunks=v)
    spent = ours.pipeline_timeline(schedule, units.shared_by(v)).makespan_s
    assert isclose(spent - 3 * m, 3 * (p - 1) / v)
    crossings = [need for rank in schedule.ranks for each in rank for need in schedule.needs(each)]
    owners = [schedule.rank_of(each.stage) for rank in schedule.ranks for each in rank for _ in schedule.needs(each)]
    assert sum(schedule.rank_of(n.stage) != o for n, o in zip(crossings, owners, strict=True)) == 2 * m * (v * p - 1)
assert (2 * 8 - 1) / 7 > 2  # messages, against 1F1B's 2m(p - 1)
for transfer_s, better in [(0, True), (0.5, True), (1, True), (1.5, False)]:  # F takes 1
    late = replace(units, transfer_s=transfer_s)
    pair = [ours.interleaved(4, 8), ours.one_forward_one_backward(4, 8)]
    steps = [ours.pipeline_timeline(each, late.shared_by(each.stages // 4)).makespan_s for each in pair]
    assert (steps[0] < steps[1]) == better

# after memory-table
table = {name: (round(idle, 3), held) for name, idle, held in rows}
assert table["ZB-H2"] == (0.108, 15) and table["ZB-H1"] == (0.159, 8)
assert min(table, key=table.get) == "ZB-H2" and table["breadth-first"][1] == 24
assert 1.4 < table["interleaved"][1] / table["1F1B"][1] < 1.5

# after h2-draw
assert [timeline.makespan_s for timeline in zero.values()] == [27, 27]
assert all(isclose(timeline.idle, 3 / 27) for timeline in zero.values())
assert zero["ZB-H2"].bubble == 0 < zero["ZB-H1"].bubble
for p, m, f, b, w in [(2, 3, 1, 2, 0.5), (3, 5, 3, 1, 1), (5, 12, 2, 3, 3), (6, 11, 1, 1, 0.5), (8, 15, 2, 1.5, 2)]:
    share = ours.pipeline_timeline(ours.zero_bubble_h2(p, m), ours.OperationTimes(f, b, w)).bubble
    assert isclose(m * (f + b + w) * share / (1 - share), (p - 1) * max(0, f + b - 2 * w, b - f), abs_tol=1e-9)
at_once = replace(profile, transfer_s=0)
assert round(ours.pipeline_timeline(ours.zero_bubble_h2(8, 24), at_once).bubble, 2) == 0.10
for p in (1, 2, 3, 5, 8):
    assert ours.peak_in_flight(ours.zero_bubble_h2(p, 3 * p)) == [2 * p - 1] * p

# after published-table
for row in ours.ZERO_BUBBLE_RATES:
    for name, rate in row.rates.items():
        timeline = ours.pipeline_timeline(ours.SCHEDULES[name](8, row.micro_batches), row.times)
        assert round(timeline.bubble, 4) == rate and isclose(timeline.idle, timeline.bubble, abs_tol=5e-5)

# after v-draw
assert [timeline.makespan_s for timeline in folded.values()] == [29, 27.5, 25.5]
for p, m in [(2, 2), (2, 3), (3, 4), (3, 5), (5, 8), (5, 9), (6, 24)]:
    timeline = ours.pipeline_timeline(ours.zero_bubble_v(p, m), units.shared_by(2))
    assert (timeline.bubble < 1e-9) == (m >= 2 * p - 1) and timeline.idle > 0
for legs in [(1, 1, 1, 1), (1, 2, 1, 2), (3, 3, 3, 3)]:
    for p in range(2, 17):
        due = ours.block_ticks(p, legs, (1, 1, 1))
        lives = [due["B", stage] - due["F", stage] for stage in range(2 * p)]
        sums = {lives[rank] + lives[-1 - rank] for rank in range(p)}
        assert len(sums) == 1 and abs(sums.pop() - p * sum(legs)) <= sum(legs)
for p in (2, 3, 5, 8, 12):
    held = [max(ours.peak_in_flight(ours.SCHEDULES[name](p, 2 * p))) for name in folded]
    assert held == [2 * (p + 4) // 3, p + 2, 2 * p]  # half micro-batches

# after v-table
table = {name: each for name, *each in rows}
assert [table[name][0] for name in ("1F1B", "V-Min", "V-Half", "ZB-V")] == [8, 4, 5, 8]
assert round(table["ZB-V"][2], 3) == 0.074
assert table["V-Min"][2] > table["V-Half"][2] > table["1F1B"][2]
assert max(table["V-Min"][1], table["V-Half"][1]) < table["1F1B"][1]
assert 0.5 < profile.weight_s / profile.forward_s < 0.51

# after fit-table
ours.check_schedule(fitted.schedule, max_in_flight=8)
assert [round(idle, 2) for _, _, idle, _, _ in rows][1] == 0.27 and round(rows[1][4], 2) == 0.16
f1b = ours.pipeline_timeline(ours.one_forward_one_backward(4, 8), times)
assert abs(f1b.idle - rows[1][2]) < 0.01 and f1b.peak_in_flight[0] == 4 and rows[1][1] == "V-Half"

# after slow-table
table = {name: each for name, *each in rows}
assert [round(table[name][2], 3) for name in ("1F1B", "GPipe")] == [0.439, 0.295]
assert table["one more F for each link"][0] == 15 and table["GPipe"][0] == 24
assert isclose(table["one more F for each link"][2], table["GPipe"][2])
assert isclose(table["one more F"][1], table["GPipe"][1]) and table["one more F"][2] > 0.4

# after run-emulated clock
assert miss < 0.05

# after run-gradients
assert all(row[2] == "yes" for row in rows)

# after measured-table
assert all(0.035 < row[4] < 0.085 for row in rows if row[0] == 32)
assert [row[1] for row in rows if row[4] < -0.25] == [4, 8]

# after tied
together_grad = first.embedding.weight.grad + last.embedding.weight.grad
whole = GPT(config, seed)
next_token_loss(whole(inputs), targets).backward()
assert torch.allclose(together_grad, whole.embedding.weight.grad, atol=1e-6)
assert not torch.allclose(first.embedding.weight.grad, last.embedding.weight.grad, atol=1e-3)

# after gpt-alone
assert max(abs(a - b) for a, b in zip(alone, together, strict=True)) < 1e-3 and together[-1] < 0.9 * together[0]
expected = 16 * ((world_size - 1) * 40_960 + gpt.embedding.weight.nbytes) * (world_size > 1)
assert report.trace.total_bytes == expected

# after stash-schedule
by_rule = {rule: each for rule, *each in rows}
assert by_rule["newest"][:2] == [2, 5] and by_rule["stashing"][:2] == by_rule["vertical sync"][:2] == [2, 2]
assert by_rule["stashing"][2] == "4, 3, 2, 1" and by_rule["vertical sync"][2] == "4, 4, 4, 4"
long = [pipedream.asynchronous_1f1b((1, 1, 1, 1), batches=batches) for batches in (64, 256)]
order = " ".join(f"{kind}{number}" for kind, _, number in long[0].ranks[0])
assert order.startswith("F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4")
first_s, second_s = (ours.pipeline_timeline(each, units).makespan_s for each in long)
assert isclose(second_s - first_s, 192 * 3)  # no filling in between
for (stage, number), used in pipedream.versions_used(long[0], "newest").items():
    assert (used.forward == used.backward) == (stage == 3 or number == 0)

# after stash-train
from statistics import stdev

accuracy = {plan: mean(end.test_accuracies) for plan, end in ends.items()}
assert mean(one.test_accuracies) > max(accuracy.values())
assert accuracy["stashing", 0.2] > accuracy["vertical sync", 0.2] + 0.2
assert accuracy["vertical sync", 0.1] > accuracy["vertical sync", 0.2] + 0.2
pairs = zip(ends["stashing", 0.2].test_accuracies, ends["newest", 0.2].test_accuracies, strict=True)
apart = [a - b for a, b in pairs]
assert abs(mean(apart) / (stdev(apart) / len(apart) ** 0.5)) < 3
assert accuracy["stashing", 0.3] > accuracy["newest", 0.3] + 0.1
lost, none = (sum(a < 0.2 for a in ends[rule, 0.3].test_accuracies) for rule in ("newest", "stashing"))
assert lost > 1 and none == 0

# after partition-vgg
assert best.configuration == "7-1" and layers[best.stages[0].last].name == "conv4_3"
for speed in range(5, 15):
    other = pipedream.profile_shapes(VGG16, 32, flops_per_s=speed * 1e12)
    assert pipedream.best_partition(other, 8, link).configuration == "7-1"
vgg = next(row for row in pipedream.TABLE_1 if (row.network, row.machines, row.cluster) == ("VGG16", 8, "B"))
assert vgg.configuration == "7-1" and (vgg.pipedream, vgg.data_parallel) == (6.98, 1.36)
assert pipedream.best_partition(layers, 8, link, passes=pipedream.PAPER_PASSES).stages == best.stages
paper = pipedream.throughput(layers, copies, link, passes=pipedream.PAPER_PASSES)
assert isclose(paper.speed_up, rows[1][1] / 2, rel_tol=0.01)
whole = sum(layer.weight_bytes for layer in layers)
assert round(1 - sum(layer.weight_bytes for layer in layers[:13]) / whole, 2) == 0.89
assert round(1 - sum(layer.weight_bytes for layer in layers[:10]) / whole, 2) == 0.94
