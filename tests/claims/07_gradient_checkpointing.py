"""What the page '07 · Gradient checkpointing' says, asserted: a block behind each cell that shows it."""

# after stake
assert round(states / 1e9) == 24 and round(activations / 1e9) == 60 and 8e9 < rooted < 9e9

# after hooks
assert [tuple(t.shape) for t in saved] == [(6, 8), (6, 5), (6, 5), (5, 3)]

# after measured
assert all(kept == formula for *_, kept, formula in rows)

# after shared
assert lies_there < 0.75 * added

# after gpt
assert all(row[0] == row[1] for row in rows.values())

# after own-plan
assert (ours.plan_peak(own, chain), ours.plan_cost(own, chain)) == (3, 5)

# after segments
from math import ceil

assert all(peak == ceil(n / k) + k for k, peak in peaks.items())
assert min(ceil(n / k) + k for k in range(1, n + 1)) == ceil(100 / 10) + 10 == 20

# after strategies-table
assert rows["keep nothing"] == [136, 3, 5050, 3] and rows["segments"] == [27, 8, 188, 20]
assert rows["halving"] == [16 * 4 // 2 + 16, 4 + 2, 416, 9]
for many in (2, 8, 30, 128, 200):
    plan, equal = ours.segment_plan(ours.best_segments(many)), equal_layers(many)
    assert ours.plan_cost(plan, equal) < 2 * many and ours.plan_peak(plan, equal) <= ceil(2 * sqrt(many))
for levels in (1, 3, 7):
    halved, equal = ours.halving(0, 2**levels), equal_layers(2**levels)
    runs = 2**levels * levels / 2 + 2**levels
    assert (ours.plan_cost(halved, equal), ours.plan_peak(halved, equal)) == (runs, levels + 2)

# after time
from math import isclose

assert isclose(all_twice, 1 / 3) and isclose(ours_longer, 0.3)

# after revolve-table
pairs = [(length, slots) for length in range(1, 201) for slots in range(1, 11)]
assert all(fewest_recomputed(*pair) == ours.revolve_closed_form(*pair) for pair in pairs)
plan, chain = ours.revolve(100, 5), equal_layers(100)
assert (ours.plan_cost(plan, chain), ours.plan_peak(plan, chain)) == (100 + 316, 5 + 2)
halved, ten = ours.halving(0, 10), equal_layers(10)
assert (ours.plan_cost(halved, ten), ours.plan_peak(halved, ten)) == (10 + 15, (3 + 2) + 1)
peaks = [ours.plan_peak(ours.revolve(n, c), equal_layers(n)) - c for n in (2, 5, 20) for c in (1, 2, 3, 10)]
assert max(peaks) == 2
assert rows[10][2] == 15 and rows[100][3] == 316

# after optimum-equal
assert all(best <= revolve for revolve, best in rows.values()) and rows[5][1] < rows[5][0]

# after frontier
for name, each in points.items():
    for peak, cost in each:
        assert ours.plan_cost(planner.plan(peak), digits) / once <= cost + 1e-9, (name, peak)
assert ours.plan_cost(less, digits) / once < 1.05
assert [node for node in again if isinstance(model[node - 1], nn.Conv2d)] == [2]  # the first, with one channel in
for peak, cost in points["segments"]:
    assert cost > 1.2 * ours.plan_cost(planner.plan(peak), digits) / once

# after budgets
assert all(optimum <= segments for _, segments, optimum in rows.values())

# after non-persistent
assert costs == (32, 41)

# after thousand
from unittest.mock import patch

sizes, times = sizes[:161], times[:161]
middle = {i: ours.Node((i - 1,) if i else (), (i - 1,) if i else (), sizes[i], 0, times[i]) for i in range(161)}
budget = ours.plan_peak(ours.segment_plan(ours.best_segments(160)), middle)
grouped = ours.plan_cost(ours.plan_chain(middle, budget), middle)
with patch("course_lib.checkpointing.optimum.MAX_PIECES", 160):
    assert 1 < grouped / ours.plan_cost(ours.plan_chain(middle, budget), middle) < 1.08
assert ours.plan_peak(best, long) <= ours.plan_peak(by_hand, long) and saved > 0

# after executor-table
assert set(equal) == {(True, True, True)} and all(promised == measured for promised, measured, _ in rows.values())

# after torch-table
assert set(alike) == {(True, False)}  # gradients, statistics
assert all(max(segments, best) <= 1.002 * theirs for theirs, segments, best, *_ in rows.values())
assert all(best < 0.82 * by_count for *_, by_count, best in rows.values())
assert rows[4][0] == min(row[0] for row in rows.values()) and rows[4][4] > 1.5

# after torch-batch-norm
assert counts == [2, 2, 2, 1]  # the last stands in the last segment, which is not recomputed

# after twice-run
from itertools import combinations

wrong = rows.pop("DDP, use_reentrant=True")
assert max(most for _, most in rows.values()) < 1e-5
if world_size > 1:  # one rank alone averages nothing
    assert wrong[0] > 0.2
on_rank = [found[1] for found in report.results]  # of DDP with use_reentrant=True
assert not any(torch.allclose(*pair) for pair in combinations(on_rank, 2))

# after torch-rng
assert losses[0] == losses[1] and not torch.allclose(*gradients)

# after selective-run
assert all(gradients)
more_heads = [held_and_flops(kinds[name], 256, heads=8) for name in kinds]
assert more_heads[0][0] > found["all"][0] + 15 and more_heads[1][0] == 9
assert [flops for _, flops, _ in more_heads] == [flops for _, flops, _ in found.values()]
held, more = zip(*rows.values(), strict=True)
assert held[1] == held[4] == 9 and held[2] == held[5] == 0  # q, k, v, attention's output, 4d and d of the two layers
assert 15 < held[0] < 19 and 29 < held[3] < 33
assert more[1] < 0.03 and 0.1 < more[4] < 0.15 and all(0.2 < each < 0.3 for each in (more[2], more[5]))
published = {(96, 2048, 12288): 0.70, (128, 2048, 20480): 0.65}  # heads, tokens, width: GPT-3, MT-NLG
for (heads, tokens, width), share in published.items():
    assert abs(5 * heads * tokens / width / (34 + 5 * heads * tokens / width) - share) < 0.006

# after attention-run
for heads, size, tokens in [(4, 16, 128), (4, 16, 1024), (2, 8, 100), (1, 32, 64)]:
    kept, again, pytorch = (numbers_and_flops(way, tokens, heads, size) for way in ways.values())
    assert again[0] == pytorch[0] == heads * (4 * size + 1) and kept[0] > heads * tokens
    for one in (again, pytorch):
        assert all(torch.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in zip(one[2], kept[2], strict=True))
whole = numbers_and_flops(lambda q, k, v: ours.RecomputedAttention.apply(q, k, v, 128), 128)[1]
assert isclose(whole / found["weights kept"][0][1], 7 / 6)

# after host
deep.zero_grad()
deep(batch).sum().backward()
for gradients in found:
    assert all(torch.equal(a, p.grad) for a, p in zip(gradients, deep.parameters(), strict=True))
(kept, _), (six, crossing), (longer, _), (twelve, more), (_, everything) = rows.values()
assert (kept, longer) == (6 + 6, 12 + 3) and (six, twelve) == (6 + 1, 3 + 1)
assert (crossing, more) == (2 * (6 - 1), 2 * (12 - 1))
weight = deep[0].weight.nbytes / batch.nbytes
assert everything == 2 * (36 + 35 * weight)  # the first layer passes no gradient on

# after worth
even = 2 * flops_per_s / bytes_per_s
assert round(even, -2) == 19_800
assert all((ratio > even) == (again > link) for ratio, again, link in rows.values())
assert [ratio > even for ratio, *_ in rows.values()] == [False, False, False, True]
crossing, four_passes = 2 * 2 * d, 4 * 24 * d**2
enough = crossing / (four_passes / flops_per_s)
assert isclose(enough, flops_per_s / (24 * d)) and round(enough / 1e9, 1) == 1.1
assert round(bytes_per_s / 1e9, 1) == 31.5

# after torch-clock
assert ours.plan_peak(timed, digits) <= ours.plan_peak(plan, digits)

# after pipeline-run
for rank, ((all_kept, _), (inputs_kept, _)) in enumerate(zip(kept.results, again.results, strict=True)):
    waiting = world_size - rank
    assert (all_kept, inputs_kept) == (waiting * stage_bytes, (waiting - 1) * input_bytes + stage_bytes)
assert all(equal)
assert kept.trace.total_bytes == again.trace.total_bytes

# after graphs-draw
assert most == {"residual": 2, "U-Net": 4, "DenseNet": 6}

# after graphs-executed
left = [100 * rows[at + 2][2] // rows[at + 1][2] for at in (0, 4, 8)]
assert all(equal)
assert all(row[2] == row[3] for row in rows) and left == [43, 53, 55]  # per cent, by hand

# after graphs-width-draw
assert graphs.cut_width(deep) == 32 and graphs.tree_decomposition(deep).width == 2
assert len(first.separator) == 2 and all(2 * len(part.nodes) <= 15 for part in first.inner) and len(shown) == 16

# after graphs-divide-table
assert [rows[name][3] for name in ("chain", "balanced tree", "residual")] == [8, 9, 11]
assert 8 < rows["U-Net"][3] < 0.6 * rows["U-Net"][1]
assert all(runs < 8 for *_, runs in rows.values())

# after graphs-optimum-table
assert all(0.99 < rows[name][2] / rows[name][1] <= 1 for name in ("residual", "DenseNet"))
assert rows["U-Net"][1] > 1.7 and rows["U-Net"][2] < 1.4 and rows["U-Net"][3] < 0.8 * rows["U-Net"][0]
best = graphs.graph_optimum(graph, 1e3 * rows["U-Net"][0])
again = {moment.action.node for moment in ours.play_plan(best, graph) if moment.again}
for kind, many in {torch.nn.Conv2d: (3, 8), torch.nn.BatchNorm2d: (6, 7)}.items():
    layers = [node for node, layer in traced["U-Net"].functions.items() if isinstance(layer, kind)]
    assert (sum(node in again for node in layers), len(layers)) == many

# after graphs-search
assert all(row[2] == row[3] for row in rows if row[0] != "U-Net")
assert [row[2:] for row in rows if row[0] == "U-Net"][1:] == [(float("inf"), 11), (7, 7), (5, 5)]

# after graphs-torch-run
for each in steps.values():
    torch.testing.assert_close(each.gradients, plain.gradients, rtol=1e-3, atol=1e-6)
assert len(steps) == 4

# after graphs-torch-table
assert half.saved_bytes < 0.5 * held.now_bytes and half.convolutions <= 9
assert none.saved_bytes == 0 and none.convolutions == 14 and none.peak_bytes > 0.95 * plain.peak_bytes
assert steps["our optimum, 25%"].peak_bytes < 0.55 * plain.peak_bytes
