"""What the page '09 · Tensor decompositions' says, asserted: a block behind each cell that shows it."""

# after stakes
assert (tt_numbers, round(dense_numbers / tt_numbers)) == (528, 194_622)
assert round(parameters / 1e6) == 138 and round(parameters / (parameters - dense_numbers - 4096**2)) == 7

# after svd-run
assert error <= 0.1 * photo.norm() and isclose(error, left_out, rel_tol=1e-9)
one_less = (photo - ours.truncated_svd(photo, largest_rank=svd.rank - 1).full()).norm()
assert one_less > 0.1 * photo.norm()

# after tucker-law
assert all(list(row[1:]) == sorted(row[1:]) for row in rows.values())
assert (blocks - ours.hosvd(blocks, 0.1).full()).norm() <= 0.1 * blocks.norm()
for k in range(5):
    drawn = torch.randn(4, 5, 3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(k))
    for tensor, rank in ((drawn, 1), (drawn, 2), (drawn[:, :, 0], 3)):
        kept = ours.hosvd(tensor, largest_rank=rank)
        apart, each = (tensor - kept.full()).norm().item(), ours.mode_errors(tensor, kept.ranks)
        assert max(each) < apart + 1e-9 and apart < sqrt(sum(e * e for e in each)) + 1e-9

# after tucker-numbers
assert all(counted == 2**d + d * 10 * 2 for d, (_, counted) in rows.items())  # the core, and d factors

# after by-hand
from math import cos, sin

assert train.element([7] * 30) == 210 and sum_of_indices([2, 3, 4]).full()[1, 2, 3] == 6
wild = ours.function_on_grid(lambda s: (9 * s * s).sin() + (7 * s**3).cos(), [4] * 4)
assert ours.tt_svd(wild, 1e-12).ranks == (1, 4, 7, 4, 1)  # 4 and 7 partial sums

# after law
assert all(alike) and max(row[0] for row in rows.values()) <= epsilon
assert rows["random"][2] > 840 > rows["smooth and noise"][2]
for k in range(5):
    drawn = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(k))
    assert ours.tt_svd(drawn, epsilon).numbers > drawn.numel()

# after ranks-law
assert exact.ranks == ours.tt_ranks(both) == (1, 4, 4, 4, 4, 1)  # 1, s, sin s and cos s of what comes before
assert 1 <= most <= sqrt(4)

# after storage-sine
for d, (ranks, counts) in rows.items():  # sin a · cos b + cos a · sin b
    assert ranks == "-".join(["1", *["2"] * (d - 1), "1"])
    assert counts == ours.storage_at_rank([10] * d, rank=2)

# after storage-stories
assert function[20].tensor_train == 760 and function[20].tucker > 1e6 and function[20].svd == 4e10
assert picture[2].svd == picture[2].tensor_train and picture[8].tensor_train > 2 * picture[8].svd
assert picture[8].tucker > 0.7 * picture[8].full
assert min(layer[2]) > 0.75 * layer[2].full and layer[6].tensor_train > layer[6].full
for k in range(5):  # the matrix itself is another thing
    trained = ours.train_digits_weight(seed=k)
    numbers = [ours.truncated_svd(trained, error * trained.norm().item()).numbers for error in (0.1, 0.3)]
    assert numbers[1] < 0.5 * trained.numel() < trained.numel() < numbers[0]
    cut = [n for m in layer_cuts.values() for n in ours.storage_of(ours.tensorize(trained, m, m), 0.3)]
    assert min(cut) > 0.75 * trained.numel()

# after order-of-modes
assert rows["x₁ x₄ x₂ x₅ x₃ x₆"][1] == 336 and rows["x₁ x₂ x₃ x₄ x₅ x₆"][1] > 150_000

# after sine
assert isclose(sine.element([3] * 30), sin(9)) and isclose(cosine.element([3] * 30), cos(9))

# after rounding
assert set(squared.ranks[1:-1]) == {4} and set(rounded.ranks[1:-1]) == {3} and set(one.ranks) == {1}

# after costs-run
assert all(counted == formula for counts in (small, large) for counted, formula in counts.values())
assert all(counts[0] < 1e9 for counts in large.values())

# after identity
small = ours.TTMatrix(tuple(torch.eye(n)[None, :, :, None] for n in (2, 3, 4)))
assert torch.equal(small.full(), torch.eye(24))
assert ours.truncated_svd(torch.eye(24)).rank == 24

# after product-flops
assert rows[8][2] < 0.3 and 1 < rows[16][2] < 1.05 and rows[32][2] > 4
assert 0.5 < by_rank[16] < 0.53 and by_rank[22] < 1 < by_rank[23] and by_rank[32] > 2
for r in (1, 4, 16):
    layer = ours.TTLinear(input_modes, output_modes, ranks=r, bias=False)
    counted = ours.count(layer, torch.randn(1, inputs)).flops
    assert counted == ours.tt_product_flops(output_modes, input_modes, layer.matrix.ranks, batch=1)
for r, row in rows.items():
    falling = ours.tt_product_flops(output_modes, sorted(novikov, reverse=True), [1, *[r] * 5, 1], batch=1)
    assert 0.5 < row[3] / row[2] < 0.6 and 0.245 < falling / dense_flops / row[2] < 0.4
for m, n in ((output_modes, novikov), (output_modes, input_modes), ((10, 10, 1, 1), (1, 1, 10, 10)), ((2, 3), (3, 2))):
    widest, ranks = max(prod(m[:k]) * prod(n[k:]) for k in range(len(m) + 1)), [1, *[4] * (len(m) - 1), 1]
    assert ours.tt_product_flops(m, n, ranks, batch=1) <= 2 * len(m) * max(m) * 4**2 * widest

# after same-gradients
assert all(torch.allclose(a, b, rtol=1e-10, atol=1e-12) for a, b in zip(*grads, strict=True))
with torch.random.fork_rng():  # the variance of nn.Linear's weights is 1 / (3 · inputs)
    for k in range(3):
        torch.manual_seed(k)
        drawn = [ours.TTLinear((4, 8), (5, 6), ranks=3).matrix.full().square().mean().item() for _ in range(100)]
        assert 0.85 < 3 * 32 * sum(drawn) / 100 < 1.15

# after memory
assert all(counts[r].largest_bytes == size < 4 * dense_numbers for r, size in largest.items())

# after memory-formula
assert kept_bytes(16, 32) < weight_and_gradient < kept_bytes(16, 256)

# after time-draw
assert all(1.3 < counts[r].flops / counts["dense"].flops / line < 1.5 for r, line in zip(ranks, flops, strict=True))

# after time-draw clock
assert max(ratios[1]) < 1 and ratios[32][1] < 0.5 and ratios[32][-1] > 1
assert ratios[32][-1] > 3 * ratios[1][-1]  # 32 examples share what the dense layer pays once

# after learn
assert sum(parameter.numel() for parameter in models[0].parameters()) == 80_730

# after learn-svd
assert trains[2].relative_error > 0.98 and trains[2].converted < 0.3 and trains[2].tuned > 0.9
assert trains[4].tuned > whole.tuned - 0.04 and trains[2].tuned > thin[2].tuned + 0.05
assert thin[8].converted > trains[8].converted + 0.2
assert all(abs(random_cores[rank].tuned - trains[rank].tuned) < 0.04 for rank in (2, 4))
assert random_cores[1].tuned > trains[1].tuned
learned = torch.linalg.svdvals(
    models[0][2].weight - experiments.wide_digits_model(steps=0, seed=seed)[2].weight
).square()
assert 0.96 < learned[:27].sum() / learned.sum() < 0.995  # of what training has added
matrices = [tt_layer(rank)(models[0][2]).double().matrix.full() for rank in (1, 2)]
assert [torch.linalg.matrix_rank(each).item() for each in matrices] == [192, 240]

# after lora-run
assert all(sent == 2 * (world_size - 1) * 4 * numbers for numbers, _, sent, _ in rows.values())
reached = {name: row[-1] for name, row in rows.items()}
assert before < 0.6 < reached["LoRA, rank 2"] and reached["LoRA, rank 2"] > reached["in its place, rank 2"] + 0.02
assert reached["LoRA, rank 8"] > reached["all of it"] - 0.04
assert rows["LoRA, rank 8"][0] == 8 * (256 + 240) and 15 < rows["all of it"][0] / rows["LoRA, rank 8"][0] < 16
gpt3 = 96 * 2 * 4 * (12_288 + 12_288)
assert gpt3 == 18_874_368 and 9_000 < 175e9 / gpt3 < 10_000
in_4_bits = reached["QLoRA, rank 2"]
assert abs(in_4_bits - reached["LoRA, rank 2"]) < 0.05 and in_4_bits > reached["rank 2 beside noise"] + 0.03
weight = trained[2].weight.detach()
assert 0.08 < (four_bits.weight - weight).norm() / weight.norm() < 0.1
assert four_bits.weight_bytes == 61_440 // 2 + 4 * 61_440 // 64 and 7 < weight.nbytes / four_bits.weight_bytes < 7.2
assert round(7 * (4 + 8 / 64 + 32 / 64 / 256) / 8, 1) == 3.6

# after wire-run
assert all(count == steps * 2 * (world_size - 1) * 4 * row[0] for form, row in rows.items() for count in sent[form])
cores = sum(p.numel() for name, p in wide_network("tensor train").named_parameters() if "cores" in name)
assert (cores, rows["tensor train"][0]) == (11264, 23562)
assert 47 < rows["dense"][0] / rows["tensor train"][0] < 48 and min(max(row[2:]) for row in rows.values()) > 0.8

# after cross-matrix
assert best < errors["maxvol"] < 10 * best < errors["first rows and columns"]

# after cross-run
assert all(row[0] == 4 * (2 * 10 * rank + 18 * 10 * rank**2) for rank, row in rows.items())
assert ((ours.elements_at(train_found, elsewhere) - truth).abs() / truth).max() < 1e-7
assert errors[8] < 1e-7 and list(errors.values()) == sorted(errors.values(), reverse=True)
assert 0.9 < np.log10(errors[1] / errors[8]) / 7 < 1.4  # digits a rank

# after cross-integral
assert isclose(integral, exact, rel_tol=1e-9)

# after cross-kink
below = torch.stack([(torch.arange(10) < t).double() for t in range(1, 10)])  # [i < t], for t from 1 to 9
core = torch.zeros(10, 10, 10, dtype=torch.float64)
core[9, :, 9] = 1
core[range(9), :, range(9)] = below
head = torch.cat([-below, torch.full((1, 10), 9.0)]).T.reshape(1, 10, 10)
tail = torch.cat([below, torch.ones(1, 10)]).reshape(10, 10, 1)
by_hand = ours.TensorTrain((head, *[core] * 8, tail))
assert (ours.elements_at(by_hand, elsewhere) - 9 * truth).abs().max() < 1e-12 and max(by_hand.ranks) == 10
at = {rank: [line[1][k] for line in lines.values()] for k, rank in enumerate(ranks)}
assert all(0.005 < error < 0.2 for error in at[8]) and sum(error < 1e-12 for error in at[20]) >= 3
enough = [error for rank in ranks if rank >= 10 for error in at[rank]]
assert sum(error < 1e-12 for error in enough) >= 5 <= sum(error > 1e-5 for error in enough)

# after tool-compare
assert all(isclose(*rows[name], rel_tol=1e-9) for name in ("tensor train", "Tucker"))
assert 0.99 * rows["Tucker"][1] < rows["Tucker, improved in turns"][1] < rows["Tucker"][1]
