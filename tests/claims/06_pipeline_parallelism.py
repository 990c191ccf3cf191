"""What the page '06 · Pipeline parallelism' says, asserted: a block behind each cell that shows it."""

# after naive-run clock
assert abs(idle - (1 - 1 / world_size)) < 0.05

# after gpipe-draw
assert gpipe.makespan_s == 21 and isclose(gpipe.bubble, 3 / 7)

# after bubble-table
formula = {m: [(p - 1) / (m + p - 1) for p in (4, 8)] for m in rows}
assert all(isclose(*pair) for m in rows for pair in zip(rows[m], formula[m], strict=True))
assert all((p - 1) / (4 * p + p - 1) < 1 / 5 for p in range(1, 100))

# after gpipe-table
assert all(1.04 < computed / measured < 1.08 for m, _, measured, computed, _ in rows if m == 32)

# after f1b-draw
assert flush.makespan_s == ours.pipeline_timeline(ours.gpipe(4, 8), units).makespan_s == 33

# after f1b-memory
assert rows[32] == ["[32, 32, 32, 32]", "[4, 3, 2, 1]"]
for p, m in [(1, 3), (3, 2), (3, 5), (5, 5), (8, 3), (8, 24)]:
    both = [make(p, m) for make in (ours.gpipe, ours.one_forward_one_backward)]
    assert len({ours.pipeline_timeline(each, units).makespan_s for each in both}) == 1
    assert ours.peak_in_flight(both[1]) == [min(m, p - r) for r in range(p)]

# after executor-run
assert all(all(row) for row in found.values())

# after emulated-run clock
assert miss < 0.05 * computed.makespan_s

# after interleaved-draw
assert plain_idle == 2 * chunked_idle == 9

# after interleaved-messages
from dataclasses import replace

assert [messages for messages, *_ in rows.values()] == [2 * 8 * (v * 4 - 1) for v in (1, 2, 2)]
assert [row[1:] for row in rows.values()] == [(4, 0), (11, 18), (2 * 8, 2)]
by_name = [ours.pipeline_timeline(make(4, 8), halves).makespan_s for make in (ours.interleaved, ours.breadth_first)]
assert by_name[0] == by_name[1]
for p, m, v in [(2, 4, 2), (3, 6, 2), (4, 8, 3), (5, 5, 4)]:
    for make in (ours.interleaved, ours.breadth_first):
        spent = ours.pipeline_timeline(make(p, m, chunks=v), units.shared_by(v)).makespan_s
        assert isclose(spent - 3 * m, 3 * (p - 1) / v)  # the bubble divided by v
for transfer_s, pays in [(0, True), (0.5, True), (1, True), (1.5, False)]:  # F takes 1
    pair = [(ours.interleaved, halves), (ours.one_forward_one_backward, units)]
    late = [ours.pipeline_timeline(make(4, 8), replace(t, transfer_s=transfer_s)).makespan_s for make, t in pair]
    assert (late[0] < late[1]) == pays

# after zero-draw
idle = [round(timeline.bubble, 12) for timeline in zero.values()]
assert idle == [round(9 / 33, 12), round(3 / 27, 12), 0]
assert [timeline.peak_in_flight for timeline in zero.values()] == [[4, 3, 2, 1], [4] * 4, [7] * 4]
for p in (1, 2, 3, 5, 8):
    held = [ours.peak_in_flight(ours.SCHEDULES[name](p, 3 * p)) for name in names[1:]]
    assert held == [[p] * p, [2 * p - 1] * p]

# after zero-times
enough = [row for row in rows if row[0] >= 2 * 4 - 1]
assert all(isclose(idle, 3 * max(0, f + b - 2 * w, b - f), abs_tol=1e-9) for _, f, b, w, _, idle in enough)
assert isclose(rows[1][4], 0.2)
for p, m, f, b, w in [(2, 3, 1, 2, 0.5), (3, 5, 3, 1, 1), (5, 12, 2, 3, 3), (6, 11, 1, 1, 0.5), (8, 15, 2, 1.5, 2)]:
    share = ours.pipeline_timeline(ours.SCHEDULES["ZB-H2"](p, m), ours.OperationTimes(f, b, w)).bubble
    idle = m * (f + b + w) * share / (1 - share)
    assert isclose(idle, (p - 1) * max(0, f + b - 2 * w, b - f), abs_tol=1e-9)

# after published
assert all(agree)
assert all(0.07 < 1 - textbook / rate < 0.21 for _, textbook, rate, *_ in rows)

# after round
assert isclose(round_ms, row.times.all_s + 14 * row.times.transfer_s / 8, rel_tol=1e-3)
at_once, idle = replace(row.times, transfer_s=0), 7 * (row.times.forward_s + row.times.input_s - 2 * row.times.weight_s)
still = ours.pipeline_timeline(ours.SCHEDULES["ZB-H2"](8, 24), at_once).bubble
assert isclose(still, idle / (idle + 24 * row.times.all_s)) and round(still, 2) == 0.10
without = ours.pipeline_timeline(ours.one_forward_one_backward(8, 24), at_once).bubble
assert isclose(without, ours.textbook_bubble(8, 24))

# after v-draw
assert [timeline.makespan_s for timeline in folded.values()] == [29, 27.5, 25.5] and isclose(folded["ZB-V"].bubble, 0)
assert [timeline.peak_in_flight for timeline in folded.values()] == [[5] * 4, [6] * 4, [8] * 4]
for p, m in [(2, 2), (2, 3), (3, 4), (3, 5), (5, 8), (5, 9), (6, 24)]:
    assert (ours.pipeline_timeline(ours.SCHEDULES["ZB-V"](p, m), halves).bubble < 1e-9) == (m >= 2 * p - 1)
for legs in [(1, 1, 1, 1), (1, 2, 1, 2), (3, 3, 3, 3)]:
    for p in range(2, 17):
        due = ours.block_ticks(p, legs, (1, 1, 1))
        lives = [due["B", stage] - due["F", stage] for stage in range(2 * p)]
        both = {lives[rank] + lives[-1 - rank] for rank in range(p)}
        assert len(both) == 1 and abs(both.pop() - p * sum(legs)) <= sum(legs)
for p in (2, 3, 5, 8, 12):
    held = [max(ours.peak_in_flight(ours.SCHEDULES[name](p, 2 * p))) for name in names_v]
    assert held == [2 * (p + 4) // 3, p + 2, 2 * p]  # half micro-batches
    assert all(0 <= found - p * legs / 6 < 3 for found, legs in zip(held, (4, 6, 12), strict=True))

# after v-published
assert all(held == of_paper for of_paper, held, *_ in rows.values())
assert all(found <= float(idle.split()[-1]) + 1e-9 for *_, idle, found in rows.values())
for p in range(1, 17):  # idle units: p/2m and 2p/3m of 3m
    for name, idle in {"ZB-V": 0, "V-Half": 1.5 * p, "V-Min": 2 * p}.items():
        share = ours.pipeline_timeline(ours.SCHEDULES[name](p, 2 * p - 1), halves).bubble
        assert 3 * (2 * p - 1) * share / (1 - share) < (idle if p <= 12 else idle * 1.15) + 1e-9
for ranks, w, hidden in [(1, 0.5, 0.2), (2, 0.2, 0), (3, 0.5, 0.5), (6, 0.2, 0.3), (8, 0.5, 0.2)]:
    both_ends, folded = ours.dual_pipe(2 * ranks, 6 * ranks), ours.dual_pipe_v(ranks, 3 * ranks)
    times_v = ours.OperationTimes(0.5, 0.5, w, overlap_s=hidden)
    whole, v = (ours.pipeline_timeline(each, times_v) for each in (both_ends, folded))
    busy = sum(timed.end_s - timed.start_s for timed in v.ranks[-1])
    assert isclose(v.makespan_s - busy, (ranks - 1) * ((1 + w - hidden) + (0.5 + w) - 3 * w), abs_tol=1e-9)
    assert [[timed[1:] for timed in row] for row in whole.ranks[:ranks]] == [[t[1:] for t in row] for row in v.ranks]
    assert v.peak_in_flight == [2 * ranks + 1] * ranks
for p, m in [(2, 4), (2, 6), (5, 15), (8, 16), (8, 24)]:
    dual = ours.SCHEDULES["DualPipeV"](p, m)
    forward = [each in dual.together for row in dual.ranks for each in row if each.kind == "F"]
    assert (sum(forward) > len(forward) / 2) == (m >= 3 * p)

# after search
ours.check_schedule(fitted.schedule, max_in_flight=8)
assert [row[1] for row in rows] == ["V-Min", "V-Half", "V-Half", "ZB-V"]
assert rows[1][4] < 0.62 * rows[1][2] and rows[2][4] < 0.5 * rows[2][2] and rows[3][4] == rows[3][2]
f1b = ours.pipeline_timeline(ours.one_forward_one_backward(4, 8), short_w)
assert rows[1][4] < 0.62 * f1b.bubble and rows[1][2] < f1b.bubble < rows[0][2]
for name, p in [*(("V-Min", p) for p in range(2, 8)), ("V-Half", 4)]:
    few, many = (ours.pipeline_timeline(ours.SCHEDULES[name](p, m), short_w.shared_by(2)) for m in (2 * p, 4 * p))
    work = 2 * p * short_w.all_s
    assert (many.makespan_s - 2 * work) - (few.makespan_s - work) > 0.9 * p

# after split-run-code
assert all(equal == "yes" for _, equal in found.values())

# after partition-vgg
assert best.configuration == "7-1" and best.active_batches == 2 and profile[best.stages[0].last].name == "conv4_3"
others = [pipedream.profile_shapes(VGG16, 32, flops_per_s=speed * 1e12) for speed in range(5, 15)]
assert all(pipedream.best_partition(other, 8, link).configuration == "7-1" for other in others)
sizes = [pipedream.profile_shapes(VGG16, size) for size in (64, 32)]
by_sum = [pipedream.best_partition(each, 8, link, "sum", pipedream.PAPER_PASSES).configuration for each in sizes]
assert by_sum == ["7-1", "4-3-1"]
vgg = next(row for row in pipedream.TABLE_1 if (row.network, row.machines, row.cluster) == ("VGG16", 8, "B"))
pipeline, copies, as_paper = rows.values()
assert vgg.configuration == best.configuration and isclose(pipeline.speed_up, vgg.pipedream, rel_tol=0.12)
assert (vgg.pipedream, vgg.data_parallel, vgg.communication_saved) == (6.98, 1.36, 0.95)
assert round(1 - pipeline.sent_bytes / copies.sent_bytes, 2) == 0.92
front, whole = (sum(layer.weight_bytes for layer in profile[:last]) for last in (10, 16))
assert round(1 - front / whole, 2) == 0.94 and round(1 - (6 / 7 * front) / (7 / 8 * whole), 2) == 0.95
assert pipedream.best_partition(profile, 8, link, passes=pipedream.PAPER_PASSES).stages == best.stages
assert round(1 - sum(layer.weight_bytes for layer in profile[:13]) / whole, 2) == 0.89

# after stash-schedule
long = [pipedream.asynchronous_1f1b((1, 1, 1, 1), batches=batches) for batches in (64, 256)]
first_s, second_s = (ours.pipeline_timeline(each, units).makespan_s for each in long)
assert isclose(second_s - first_s, 192 * 3)
assert versions["newest"] == (2, 5) and versions["stashing"] == (2, 2)
assert kept["stashing"] == [4, 3, 2, 1] and kept["vertical sync"] == [4] * 4
for (stage, number), used in pipedream.versions_used(long[0], "newest").items():
    assert (used.forward == used.backward) == (stage == 3 or number == 0)

# after stash-train
from statistics import stdev

assert len(real.losses) == 20
assert table["one process"][0] > table["stashing"][0] > table["vertical sync"][0] + 0.2
assert table["vertical sync, rate 0.1"][0] > table["vertical sync"][0] + 0.2


def standard_errors(one, other):
    """How many the mean difference of two rules is from 0, seed by seed."""
    apart = [a - b for a, b in zip(ends[one].test_accuracies, ends[other].test_accuracies, strict=True)]
    return mean(apart) / (stdev(apart) / len(apart) ** 0.5)


assert abs(standard_errors("stashing", "newest")) < 3
assert table["stashing, rate 0.3"][0] > table["newest, rate 0.3"][0] + 0.1
lost, none = (sum(a < 0.2 for a in ends[f"{rule}, rate 0.3"].test_accuracies) for rule in ("newest", "stashing"))
assert lost == 4 and none == 0

# after gpt-run
from torch.nn.functional import cross_entropy

counted = torch.rand(targets.shape, generator=torch.Generator().manual_seed(seed)) < 0.5  # tokens that have a loss
logits = GPT(config, seed)(inputs).detach().requires_grad_()


def weighed(parts, weigh):
    """The gradient of the logits, if the mean of each part's tokens counts by its weight."""
    means = (weigh(part) * cross_entropy(logits[part][counted[part]], targets[part][counted[part]]) for part in parts)
    return torch.autograd.grad(sum(means), logits)[0]


whole, parts = weighed([slice(None)], lambda part: 1), (slice(0, 3), slice(3, 10))
by_tokens = weighed(parts, lambda part: counted[part].sum() / counted.sum())
by_sequences = weighed(parts, lambda part: len(targets[part]) / len(targets))
assert (by_tokens - whole).norm() < 1e-5 * whole.norm() < 1e-2 * (by_sequences - whole).norm()
assert max(abs(a - b) for a, b in zip(alone, together, strict=True)) < 1e-3 and together[-1] < 0.9 * together[0]
assert report.trace.total_bytes == (world_size > 1) * 16 * ((world_size - 1) * 40_960 + gpt.embedding.weight.nbytes)

# after production-compare
ours_in_order = [[f"{kind}{number}" for kind, _, number in operations] for operations in schedule.ranks]
assert equal and [order for order, *_ in results] == ours_in_order
assert results[1][2] == loss.item()
