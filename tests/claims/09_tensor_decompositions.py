"""What the page '09 · Tensor decompositions' says, asserted: a block behind each cell that shows it."""

# after layer
assert sum(parameter.numel() for parameter in models[0].parameters()) == 80_730
assert models[0][2].weight.numel() == 61_440 == dense.numbers and dense.relative_error < 1e-5
assert 0.965 <= dense.tuned < 0.98 and 0.015 <= dense.tuned - 0.95 < 0.03

# after thin-svd
assert torch.isclose(error, left_out, rtol=1e-4)
torch.testing.assert_close(u.T @ u, torch.eye(240), atol=1e-4, rtol=0)

# after thin
assert [row.numbers for row in thin.values()] == [496 * rank for rank in thin] and thin[5].numbers == 2480
assert 0.4 < thin[1].tuned < 0.5 and thin[2].tuned < 0.85 and thin[4].tuned < 0.95 < thin[5].tuned
assert 0.8 < thin[5].converted < 0.95 and 0.73 < thin[5].relative_error < 0.77
assert round(61_440 / thin[5].numbers) == 25
missing = weight - near
at_first = wide_digits_model(steps=0, seed=seed)[2].weight.detach()
assert (missing * at_first).sum() > 0.8 * missing.norm() * at_first.norm()
added = torch.linalg.svdvals(weight - at_first).square()
assert 0.64 < added[:5].sum() / added.sum() < 0.71 and added[:10].sum() > 0.93 * added.sum()

# after modes-vgg
assert rows[1] == (2, 352, 528) and rows[3] == (8, 263_296, 7_872) and 33 < 263_296 / 7_872 < 34
assert prod(vgg_modes) == 25_088 * 4_096 and (min(vgg_modes), max(vgg_modes)) == (8, 32)
for rank, tucker, train in rows:
    assert tucker == rank**6 + rank * sum(vgg_modes) and train <= 6 * 32 * rank**2
assert tuple(ours.tensorize(weight, (5, 6, 8), (4, 8, 8)).shape) == (20, 48, 64)
assert (2 * 6 + 4) * 8 + 5 == 133 and (1 * 8 + 4) * 8 + 4 == 100
assert [ours.tt_numbers([20, 48, 64], [1, rank, rank, 1]) for rank in (1, 2)] == [132, 360]

# after train-identity
assert identity.numbers == 600 and set(identity.ranks) == {1}
small = ours.TTMatrix(tuple(torch.eye(n)[None, :, :, None] for n in (2, 3, 4)))
assert torch.equal(small.full(), torch.eye(24))
ones, index = torch.zeros(2, 10, 2), torch.arange(10.0)
ones[0, :, 0] = ones[1, :, 1] = 1
ones[1, :, 0] = index
sums = ours.TensorTrain((ones[1:], *[ones] * 28, ones[:, :, :1]))
assert sums.numbers == 1160 and sums.element([7] * 30) == 210

# after train-ranks
assert [row[1:] for row in rows] == [(496, 1), (2480, 5), (132, 192), (360, 240)]
assert min(4, 5) * min(8, 6) * min(8, 8) == 192

# after convert-sine
assert [row[2] for row in rows] == [2, 2, 2] and found.numbers == 120
assert (grid - found.full()).norm() < 1e-9 * grid.norm()
for k in range(1, 4):
    assert torch.linalg.matrix_rank(grid.reshape(10**k, -1)) == 2

# after convert
assert converted[2].numbers == 360 and converted[16].numbers == 13_632
assert 0.98 < converted[2].relative_error < 1 and converted[16].relative_error > 0.8
assert converted[2].converted < 0.2 and converted[8].converted < 0.6 and converted[16].converted < 0.93
for row in converted.values():
    assert row.converted == row.tuned
assert ours.tt_matrix_svd(weight, (5, 6, 8), (4, 8, 8), 0.1).numbers > 61_440
for epsilon in (0.05, 0.3):
    kept = ours.tt_svd(tensor_of_weight := ours.tensorize(weight, (5, 6, 8), (4, 8, 8)), epsilon)
    assert (kept.full() - tensor_of_weight).norm() <= epsilon * tensor_of_weight.norm()

# after learn-same
assert numbers == 360 and apart < 1e-5
y = mine(x).square().sum()
grads = torch.autograd.grad(y, list(mine.cores))
wanted = torch.autograd.grad(layer(x).square().sum(), list(layer.cores))
for a, b in zip(grads, wanted):
    torch.testing.assert_close(a.flatten(), b.flatten(), rtol=1e-3, atol=1e-3)

# after learn-random
assert 0.91 < slow["random cores"].tuned < 0.96
assert abs(slow["random cores"].tuned - slow["converted cores"].tuned) < 0.025
assert frozen.tuned < 0.6 and frozen.numbers == 0

# after learn-rate
for name, numbers, slower, faster in rows:
    if name == "train, rank 1":
        assert numbers == 132 and 0.8 < slower < 0.91 and 0.93 < faster < 0.95
    elif name == "train, rank 2":
        assert numbers == 360 and 0.92 < slower < 0.95 < faster < 0.97
    else:
        assert faster < slower + 0.01


class TuckerLayer(nn.Module):
    def __init__(self, dense, rank):
        super().__init__()
        deviation = (1 / (3 * 256 * rank**3)) ** (1 / 8)
        self.core = nn.Parameter(deviation * torch.randn(rank, rank, rank))
        shapes = [(5, 4), (6, 8), (8, 8)]
        self.factors = nn.ParameterList(deviation * torch.randn(m, n, rank) for m, n in shapes)
        self.bias = nn.Parameter(torch.zeros(240))

    def forward(self, x):
        matrix = torch.einsum("abc,ipa,jqb,ksc->ijkpqs", self.core, *self.factors)
        return x @ matrix.reshape(240, 256).T + self.bias


tried = form(TuckerLayer, 2)
assert tried.numbers == 272 and 0.935 < tried.tuned < 0.965
for between, numbers in (((2, 1), 200), ((1, 2), 244)):
    mixed = form(lambda dense, rank, between=between: ours.TTLinear((4, 8, 8), (5, 6, 8), ranks=between), 2)
    assert mixed.numbers == numbers and 0.925 < mixed.tuned < 0.965

# after picture-learned
assert round(61_440 / 360) == 171

# after cost
assert round(kept_bytes(16, 256) / 1e6) == 881
assert round(4 * ours.tt_matrix_numbers(vgg_outputs, vgg_inputs, 16) / 1e3) == 124
weight_and_gradient = 2 * 4 * prod(vgg_modes)
assert round(weight_and_gradient / 1e6) == 822 and kept_bytes(16, 32) < weight_and_gradient < kept_bytes(16, 256)

# after wire
assert [row[1] for row in rows] == [61_680, 2_720, 600]
for _, learn, sent, messages in rows:
    assert sent == 2 * (world_size - 1) * 4 * learn and messages == 2 * world_size * (world_size - 1)
assert 2 * (4 - 1) * 4 == 24 and (24 * 61_680, 24 * 600) == (1_480_320, 14_400)

# after wire-vgg
assert sum(core_bytes) == 2112 and round(prod(vgg_modes) / 528) == 194_622
assert [round(row[2], -2) for row in rows] == [0, 2700, 15_200]
assert 5.5 < ways["train, six all-reduces"] / ways["train, one row"] < 6

# after end
assert round(parameters / 1e6) == 138 and round(100 * prod(vgg_modes) / parameters) == 74
assert [round(row[3], 1) for row in rows] == [1, 3.9, 7.4] and round(rows[1][2] / 1e6) == 142
convolutions = sum(layer.parameters for layer in VGG16 if "conv" in layer.name)
assert convolutions > 0.75 * rows[2][1]

# after explorer
from course_lib.widgets.decomposition import DecompositionSetting, kept_of


def stored(name, modes):
    kept = kept_of(DecompositionSetting(tensor=name, modes=modes))
    return kept["tensor train"].numbers, kept["two thin matrices"].numbers


several = (3, 4, 6, 12)
assert [stored("sin(x₁ + … + x_d)", modes)[0] for modes in several] == [128, 96, 80, 24]
assert [stored("sin(x₁ + … + x_d)", modes)[1] for modes in several] == [256, 256, 256, 128]
for modes in several:
    train, thin_numbers = stored("1/(1 + x₁ + … + x_d)", modes)
    assert train < thin_numbers
assert [stored("photo", modes)[0] for modes in several] == [112, 120, 128, 438] and stored("photo", 3)[1] == 128
for name in ("trained layer", "noise"):
    for modes in (2, *several):
        train, thin_numbers = stored(name, modes)
        assert train >= thin_numbers
shown = DecompositionExplorer(shown="TT-SVD, cut by cut", step=1)
assert "it keeps 15 of 16 singular values" in shown.caption
