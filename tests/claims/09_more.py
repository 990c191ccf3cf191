"""What the page '09 · More on tensor decompositions' says, asserted: a block behind each cell that shows it."""

# after order-run
assert rows[0][2] > 150_000 and rows[1][2] == 336 and max(map(int, rows[1][1].split("-"))) == 7
assert max(map(int, rows[0][1].split("-"))) < 7**3

# after slow-flops
assert rows[3][2] > 1 > rows[3][3] and rows[4][3] < 1 < rows[5][3]
assert all(dense_numbers / numbers > 1000 for _, numbers, *_ in rows[:6]) and dense_numbers == 25_088 * 4_096
for rank in (1, 4):
    layer = ours.TTLinear(input_modes, output_modes, ranks=rank, bias=False)
    counted = ours.count(layer, torch.randn(1, prod(input_modes))).flops
    assert counted == ours.tt_product_flops(output_modes, input_modes, layer.matrix.ranks, batch=1)

# after slow-draw clock
assert max(ratios[1]) < 1 and ratios[32][0] < 0.5 and ratios[32][-1] > 1

# after slow-memory
assert rows[0][3] == 4 * dense_numbers
for (_, _, _, largest), rank in zip(rows[1:], ranks):
    states = ours.tt_product_states(output_modes, input_modes, [1] + [rank] * 5 + [1], batch=32)
    assert largest == 4 * max(states) < 4 * dense_numbers

# after sums-multiply
small = [ours.TensorTrain((torch.randn(1, 3, r), torch.randn(r, 4, 2), torch.randn(2, 2, 1))) for r in (2, 3)]
product, library = multiply(*small), ours.tt_multiply(*small)
torch.testing.assert_close(product.full(), small[0].full() * small[1].full())
assert product.ranks == library.ranks == (1, 6, 4, 1)
torch.testing.assert_close(ours.tt_add(*small).full(), small[0].full() + small[1].full())
assert ours.tt_add(*small).ranks == (1, 5, 4, 1)

# after sums-turn
assert abs(sine.element([3] * 30) - np.sin(9)) < 1e-12 and abs(cosine.element([3] * 30) - np.cos(9)) < 1e-12

# after sums-rounding
kept = [set(each.ranks[1:-1]) for each in (squared, rounded, both, one)]
assert kept == [{4}, {3}, {8}, {1}]

# after sums-costs
growth = {row[0]: row[2] / row[1] for row in rows if row[1]}
assert 3.9 < growth["one element"] < 4.1 and 7.5 < growth["inner product"] < 8.1
assert 7.5 < growth["rounding to half the rank"] < 8.1 and 15.5 < growth["elementwise product"] < 16.5

# after equal-modes-run
assert list(noticed.values()) == [False] * 4 + [True]
unequal = ours.TTLinear((4, 7, 3), (2, 3, 5), ranks=3, bias=False)
try:
    with_the_bug(unequal)(torch.randn(7, 84))
    refused = False
except (RuntimeError, ValueError):
    refused = True
assert refused

# after equal-modes-gradients
assert alike == [True] * 5

# after lora-layers
for rate in (0.01, 0.05):
    layer = beside(deepcopy(trained[2]), 2)
    adapt(layer, rate)
    assert torch.equal(layer.dense.weight, trained[2].weight)
weight = trained[2].weight.detach()
assert 7 < weight.nbytes / four_bits.weight_bytes < 7.2 and (four_bits.weight - weight).norm() < 0.1 * weight.norm()

# after lora-run
reached = {name: score for name, _, _, score, _ in rows}
old = {name: score for name, *_, score in rows}
assert reached["nothing"] < 0.6 and reached["beside it (LoRA), rank 2"] > reached["in its place, rank 2"] + 0.1
assert abs(reached["beside it (LoRA), rank 8"] - reached["in its place, rank 8"]) < 0.035
assert all(abs(reached[name] - reached["all of it"]) < 0.035 for name in reached if name.endswith("rank 8"))
assert abs(reached["beside 4 bits (QLoRA), rank 2"] - reached["beside it (LoRA), rank 2"]) < 0.03
assert reached["beside noise of 4 bits, rank 2"] < reached["beside 4 bits (QLoRA), rank 2"] - 0.05
assert old["nothing"] > 0.94 and old["beside it (LoRA), rank 8"] < 0.7 and old["all of it"] < 0.7
assert 96 * 2 * 4 * (12_288 + 12_288) == 18_874_368 and round(175e9 / 18_874_368) == 9_272
assert round(7 * (4 + 8 / 64 + 32 / 64 / 256) / 8, 1) == 3.6

# after tucker-law
for _, _, largest, error, root, added in rows:
    assert largest <= error <= root < added
assert (blocks - ours.hosvd(blocks, 0.1).full()).norm() <= 0.1 * blocks.norm()
for k in range(5):
    drawn = torch.randn(4, 5, 3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(k))
    kept = ours.hosvd(drawn, largest_rank=2)
    apart, each = (drawn - kept.full()).norm().item(), ours.mode_errors(drawn, kept.ranks)
    assert max(each) < apart + 1e-9 and apart < sqrt(sum(e * e for e in each)) + 1e-9

# after formats-run
stored = {row[0]: row[3:] for row in rows}
for name, least in {"sine of a sum of 3": 2, "sine of a sum of 7": 3, "trained layer, 64 × 64": 1}.items():
    assert min(stored[name]) == stored[name][least] and stored[name].count(stored[name][least]) == 1
assert 0.8 * stored["photo, 256 × 256"][1] < stored["photo, 256 × 256"][3] < stored["photo, 256 × 256"][1]
assert min(stored["noise, 64 × 64"]) > 0.95 * 4096

# after cross-matrix
least, maxvol, first_four = (float(errors[name]) for name in list(errors)[::-1])
assert least < maxvol < 3 * least and 40 < first_four / least < 50

# after cross-run
for rank, asked, _, _ in rows:
    assert asked == 4 * (2 * 10 * rank + 18 * 10 * rank**2)
errors_elsewhere = [row[3] for row in rows]
assert errors_elsewhere == sorted(errors_elsewhere, reverse=True) and errors_elsewhere[-1] < 1e-7
assert ((ours.elements_at(found, elsewhere) - truth).abs() / truth).max() < 1e-7

# after cross-integral
assert abs(integral / exact - 1) < 1e-9

# after cross-spike
assert abs(found.element([7] * 20) - 1) < 1e-6 and spike(torch.zeros(1, 20)).item() == 1

# after tensorly-run
assert all(abs(row[1] / row[2] - 1) < 1e-9 for row in rows[:2]) and 0.99 < rows[2][2] / rows[1][2] < 1
