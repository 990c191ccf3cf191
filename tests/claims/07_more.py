"""What the page '07 · More on gradient checkpointing' says, asserted: a block behind each cell that shows it."""

# after attention-run
from math import comb, isclose

for heads, size, tokens in [(4, 16, 128), (4, 16, 1024), (2, 8, 100), (1, 32, 64)]:
    ways = keeping, recomputing, torchs_own
    kept, again, pytorch = (numbers_and_operations(way, tokens, heads, size) for way in ways)
    assert again[0] == pytorch[0] == heads * (4 * size + 1) and kept[0] > heads * tokens
    for one in (again, pytorch):
        assert all(torch.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in zip(one[2], kept[2], strict=True))
whole = numbers_and_operations(lambda q, k, v: ours.RecomputedAttention.apply(q, k, v, 128), 128)[1]
assert isclose(whole / numbers_and_operations(keeping, 128)[1], 7 / 6) and isclose(rows[2][3], 7 / 6)
assert [round(row[1]) for row in rows] == [784, 260, 260] and rows[1][3] < 1 == rows[0][3]

# after revolve-table
from functools import cache

table = {row[0]: row[1:] for row in rows}
assert table[100][:2] == [4950, 845] and table[100][3] == 316
assert comb(2 + 1, 1) == 3 and comb(2 + 2, 2) == 6 and 2 * 6 - comb(4, 1) == 8 == ours.revolve_closed_form(6, 2)


@cache
def fewest(layers, slots):
    if layers == 1:
        return 0
    if slots == 1:
        return layers * (layers - 1) // 2
    return min(j + fewest(layers - j, slots - 1) + fewest(j, slots) for j in range(1, layers))


def smallest_r(layers, slots):
    return next(r for r in range(layers) if comb(slots + r, r) >= layers)


for layers in range(1, 121):
    for slots in range(1, 11):
        r = smallest_r(layers, slots)
        closed = r * layers - comb(slots + r, r - 1) if r else 0
        assert fewest(layers, slots) == ours.revolve_closed_form(layers, slots) == closed

# after frontier
from collections import Counter

assert len(network()) == 22 and round(100 * (least - 1)) == 3
for name, each in points.items():
    for peak, passes in each:
        assert ours.plan_cost(planner.plan(1e3 * peak + 0.5), digits) / one_pass <= passes + 1e-9, (name, peak)
two_thirds = planner.plan(2 / 3 * everything_bytes)
assert round(100 * (ours.plan_cost(two_thirds, digits) / one_pass - 1)) == 3
model = network()
again = [moment.action.node for moment in ours.play_plan(two_thirds, digits) if moment.again]
kinds = Counter(type(model[node - 1]).__name__ for node in again)
assert set(kinds) <= {"Conv2d", "BatchNorm2d", "ReLU", "MaxPool2d", "Unflatten"} and kinds["Conv2d"] == 1
assert kinds["BatchNorm2d"] and kinds["ReLU"] and kinds["MaxPool2d"]
convolutions = {node: digits[node].forward_time for node in range(1, 23) if isinstance(model[node - 1], nn.Conv2d)}
assert min(convolutions, key=convolutions.get) in again and len(convolutions) == 4  # the smallest of four
for peak, passes in points["equal segments"]:
    assert passes > 1.2 * ours.plan_cost(planner.plan(1e3 * peak + 0.5), digits) / one_pass
for count in range(2, 23):
    peak, _ = point(ours.segment_plan(ours.torch_segments(22, count)))
    assert (1e3 * peak > everything_bytes) == (count >= 12)

# after optimum-equal
assert all(best <= revolve for _, revolve, best in rows)
assert (5, 49, 40) in rows

# after non-persistent
assert (ours.plan_cost(clever, chain), ours.plan_cost(ours.plan_chain(chain, 12), chain)) == (32, 41)

# after executor-table
assert all(promised == measured and same for _, promised, measured, _, same in rows)
theirs, ours_again = network(), network()
torch.manual_seed(seed + 7)
loss = loss_of(theirs(images))
torch.manual_seed(seed + 7)
assert torch.equal(ours.run_plan(plans["halving"], digits, ours.layers_of(ours_again), {0: images}, loss_of), loss)

# after twice-run
from itertools import combinations

wrong = rows.pop(1)
assert max(most for _, _, most in rows) < 1e-5
if world_size > 1:  # one rank alone averages nothing
    assert wrong[1] > 0.2
on_rank = [found[1] for found in report.results]  # of DDP with use_reentrant=True
assert not any(torch.allclose(*pair) for pair in combinations(on_rank, 2))

# after clock
assert ours.plan_peak(ours.plan_chain(timed, budget), digits) <= budget
assert round(ours.plan_cost(segments, digits) / one_pass, 2) == 1.98
assert round(ours.plan_cost(ours.plan_chain(digits, budget), digits) / one_pass, 2) == 1.22

# after host
plain = linear_layers()
plain(batch).sum().backward()
for make in (ours.segment_plan, ours.moved_segments):
    *_, model = values_here(make(range(0, 37, 3)))
    assert all(torch.equal(a.grad, b.grad) for a, b in zip(plain.parameters(), model.parameters(), strict=True))
assert [row[1:] for row in rows[:4]] == [(6 + 6, 0), (6 + 1, 2 * (6 - 1)), (12 + 3, 0), (3 + 1, 2 * (12 - 1))]
weight = plain[0].weight.nbytes / batch.nbytes
assert rows[4][2] == 2 * (36 + 35 * weight)  # the first layer passes no gradient on
assert 9 < rows[4][2] / rows[3][2] < 10
assert 0.65 < 35 * weight / (36 + 35 * weight) < 0.67  # weights among what save_on_cpu moves

# after worth
even = 2 * operations_per_s / PCIE_4.bytes_per_s
ratios = [operations / size for size, operations, _ in values.values()]
assert round(even, -2) == 19_800 and round(ratios[3]) == 151_552
assert [ratio > even for ratio in ratios] == [False, False, False, True]
assert [again > moved for _, again, moved in rows] == [False, False, False, True]
size, operations, traffic = values["the GELU's output"]
assert rows[0][1] == traffic / memory_bytes_per_s > 10 * operations / operations_per_s  # it waits for memory
assert memory_bytes_per_s > 40 * PCIE_4.bytes_per_s
_, again, moved = rows[3]
assert round(PCIE_4.bytes_per_s * moved / (4 * again) / 1e9, 1) == 1.0 and round(PCIE_4.bytes_per_s / 1e9, 1) == 31.5

# after pipeline-run
block = ours.measure_node("block", Block(config), {"x": torch.randn(2, 32, 64, requires_grad=True)})
stage_bytes, input_bytes = 2 * block.kept_bytes, block.output.nbytes
for rank in range(world_size):
    waiting = world_size - rank
    (before, gradients), (after, others) = all_kept.results[rank], inputs_kept.results[rank]
    assert (before, after) == (waiting * stage_bytes, (waiting - 1) * input_bytes + stage_bytes)
    assert all(torch.equal(a, b) for a, b in zip(gradients, others, strict=True))
assert all_kept.trace.total_bytes == inputs_kept.trace.total_bytes

# after graphs-draw
assert [graphs.cut_width(each.graph) for each in traced.values()] == [2, 4, 6]

# after graphs-executed
for name, before, promised, after, _, passes, same in rows:
    plan = graphs.cut_plan(traced[name].graph)
    assert same and promised == after and before == ours.plan_peak(plan, traced[name].graph)
    assert 1.6 < passes < 1.8
    model = models[name]
    model.zero_grad()
    torch.manual_seed(seed + 1)
    mean_square(model(inputs[name])).backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    assert all(torch.equal(a, b) for a, b in zip(expected, graph_step(name, plan)[1], strict=True))
assert [int(100 * row[4]) for row in rows] == [43, 53, 55]
for name in traced:
    for plan in (graphs.graph_frontier(traced[name].graph)[0].plan, graphs.separator_plan(traced[name].graph)):
        assert graph_step(name, plan)[0] == ours.plan_peak(plan, traced[name].graph)

# after fastest-table
table = {row[0]: row[1:] for row in rows}
assert all(0.99 < table[name][2] / table[name][1] <= 1 for name in ("residual", "DenseNet"))
assert round(table["U-Net"][1], 2) == 1.74 and round(table["U-Net"][2], 2) == 1.39
assert table["U-Net"][3] < 0.8 * table["U-Net"][0]
graph = traced["U-Net"].graph
best = graphs.graph_optimum(graph, 1e3 * table["U-Net"][0])
again = {moment.action.node for moment in ours.play_plan(best, graph) if moment.again}
for kind, many in {torch.nn.Conv2d: (3, 8), torch.nn.BatchNorm2d: (6, 7)}.items():
    layers = [node for node, layer in traced["U-Net"].functions.items() if isinstance(layer, kind)]
    assert (sum(node in again for node in layers), len(layers)) == many

# after partitioner-run
for step in steps.values():
    torch.testing.assert_close(step.gradients, steps["plain autograd"].gradients, rtol=1e-3, atol=1e-6)
half, none = steps["partitioner, budget 0.5"], steps["partitioner, budget 0.0"]
peak = steps["plain autograd"].peak_bytes
held = HeldActivations([*model.parameters(), *model.buffers(), x])
with held.watch():
    y = model(x)
assert half.saved_bytes < 0.5 * held.now_bytes and half.convolutions <= 9
assert none.saved_bytes == 0 and none.convolutions == 14 and none.peak_bytes > 0.95 * peak
assert steps["our plan, 25%"].peak_bytes < 0.5 * peak and steps["our plan, 25%"].convolutions == 26
