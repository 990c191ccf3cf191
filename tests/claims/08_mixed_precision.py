"""What the page '08 · Mixed precision' says, asserted: a block behind each cell that shows it."""

# after stakes
from math import isclose

assert isclose(1 / times["fp16, bf16"], 6.4)

# after halved
from math import isnan

assert all(row[0] < 1 and all(map(isnan, row[1:])) for row in first_losses.values())
assert torch.tensor(1e-8).half() == 0 and torch.tensor(5e-3).half() ** 2 * 0.001 == 0

# after half
assert left[0] < 300 and left[1] > 1.4 * left[0] and half.final_loss > 1.05 * fp32.final_loss
stuck = train(AUTOENCODER, everything_fp16, 100, seed).model
x, _ = next(AUTOENCODER.batches(9))
drawn = stuck(x.half()).float()
assert drawn.std(0).max() < 0.02 and (drawn.mean(0) - x.mean(0)).square().mean() < 0.003  # one picture for all

# after decode-run
assert values == [1.5, 65504, 2**-24, inf]

# after every-number
assert all(same)

# after swallow
assert [value.item() for value in rows.values()] == [1, 1 + 4 * 2**-11, 2048, 256]
for number_format, codes, u in (FP16, (0x0400, 0x7C00), 2**-11), (BF16, (0x0080, 0x7F80), 2**-8):
    normal = number_format.decode(torch.arange(*codes))  # all positive normal numbers
    swallowed = number_format.round(normal * (1 + u)) == normal
    assert torch.equal(swallowed, normal.frexp().mantissa == 0.5)  # a part of u is lost by powers of two only
    assert torch.equal(number_format.round(normal * (1 + u / 2)), normal)  # half of it by every number

# after long-sum
assert torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
assert sums["torch.float16"][0] == 2048 and sums["torch.bfloat16"] == (256, 4096)
for dtype in (torch.float16, torch.bfloat16):
    drawn = torch.rand(4096, generator=torch.Generator().manual_seed(seed)).to(dtype)
    assert drawn.sum() == drawn.double().sum().to(dtype)  # rounded once

# after histogram
assert 0.2 < share.flushed < 0.5 and share.normal < 0.01 and share.overflow == 0


# after shares
def flushed_share(model):
    found = ours.activation_gradients(model, lambda: AUTOENCODER.loss(model(x), y))
    return ours.fates(found, FP16).flushed


plateaus = [train(AUTOENCODER, FP32_RECIPE, 100, k).model for k in range(5)]
on_plateau = [flushed_share(model) for model in plateaus]
untrained = [flushed_share(AUTOENCODER.model(k)) for k in range(5)]
assert all(0.25 < share < 0.30 for share in untrained) and all(0.31 < share < 0.39 for share in on_plateau)
assert all(0.2 < rows[name][1] < 0.5 for name in ("LSTM", "autoencoder")) and rows["autoencoder, times 8"][1] < 0.25

# after moved
assert ours.fates(gradients, FP16, 2**16).normal > 0.9

# after by-layer
assert rows["1"][0] > 0.7 and rows["8"][0] > 0.1 and max(rows["1"][-1], *rows["1,024"], *rows["65,536"]) < 0.03
for model in plateaus:
    (first, *found), (_, *exact) = (weight_gradients(model, dtype, 1) for dtype in (torch.float16, torch.float32))
    assert (first == 0).float().mean() > 0.75
    assert nn.functional.cosine_similarity(found[0].flatten(), exact[0].flatten(), 0) > 0.25

# after search
assert searching.skipped > 5 and exponents[0] == 30 and min(exponents) < 22
assert (ours.DynamicScaler().scale, ours.DynamicScaler().growth_interval) == (2**16, 2000)

# after update-run
assert set(rows["fp16 alone"]) == {1} and rows["its fp16"][-1] == rows["fp32 master copy"][-1] == 1 + 16 * 2**-11

# after memory
assert each["all, for each parameter"] == (16, 16) and saved_bytes(torch.float32) == 2 * saved_bytes(torch.float16)

# after follow
assert max(map(abs, apart["mixed"])) < 0.02 and min(apart["not scaled"]) > 0.15
no_master_copy = train(AUTOENCODER, Recipe(master=False), 200, seed).final_loss
assert abs(no_master_copy / (sum(runs["fp32"][0].loss[180:200]) / 20) - 1) < 0.02
later = [flushed_share(history.model) for history in runs["fp32"]]
assert max(later) < min(on_plateau)
assert sum(isinstance(layer, nn.Sigmoid) for layer in early) == 5

# after spread
from copy import deepcopy as copied


def lstm_gradient_error(scale):
    rounded = copied(text).half()
    pairs = (next_loss(text), text), (scale * next_loss(rounded), rounded)
    true, found = [torch.autograd.grad(loss, list(m.parameters())) for loss, m in pairs]
    true, found = torch.cat([g.flatten() for g in true]), torch.cat([g.float().flatten() for g in found]) / scale
    return ((found - true).norm() / true.norm()).item()


def next_loss(model):
    return TEXT.loss(model(tokens).float(), next_tokens)


assert all(max(row[4:]) < 0.6 * row[3] for row in rows.values())
assert lstm_gradient_error(2**16) < 0.7 * lstm_gradient_error(1) < 0.005

# after forward-overflow
assert rows["fp16"][:2] == (inf, inf) and not normalized(activation).any()
assert normalized(activation.float()).half()[0].item() == 1.224609375

# after autocast
assert rows["product"][0] == "fp16" and rows["cross_entropy"][0] == "fp32"

# after first-bad-run
*others, bad, cured = shown.values()
assert all(float(number) < 100 for row in others for number in row[:3])
assert float(bad[0]) < FP16.largest and bad[1] == "inf" and bad[3] == 5 and bad[4] in ("nan", "inf")
assert float(cured[1]) > FP16.largest and cured[3] == 5

# after bf16
fp16_alone = train(slow, Recipe(scale=None, master=False), 400, seed).final_loss
assert abs(fp16_alone - ends[0]) < 0.02
assert ends[2] > ends[0] + 0.2 and max(abs(end - ends[0]) for end in (ends[1], ends[3])) < 0.05

# after stochastic-count
assert list(rows.values()) == [(0, 0), (16, 1)] and ways["by chance"].max() == 1 + 2**-7

# after fp8-scale
assert rows["e5m2"].flushed > 0.8 and rows["e5m2, scaled"].flushed < 0.01 and rows["e5m2, scaled"].overflow == 0

# after outlier
zeros, error, scale_bytes = zip(*rows.values(), strict=True)
assert zeros[0] > 0.15 and sorted(zeros, reverse=True)[:2] == [zeros[0], zeros[2]] and max(zeros[1], *zeros[3:]) < 0.001
assert error[0] > 0.12 and 0.045 < error[2] < 0.055 and max(error[1], *error[3:]) < 0.03
assert scale_bytes[4] == scale_bytes[3] == 1 / 32

# after e8m0
worst, over, error, _ = zip(*rows.values(), strict=True)
assert worst[0] < 1e-6 and worst[1] <= 1 / 16 < worst[3] <= 1 / 8 < worst[2] <= 1 - 2**-0.5 + 1e-6 and worst[2] > 0.28
assert over[0] == over[1] == "0 of 512" and int(over[2].split()[0]) > 180 and error[2] > 2 * error[1]
divisors = 1 / ours.in_fp8_blocks(values, (1, 32)).scale
assert torch.equal(divisors.to(torch.float8_e8m0fnu).float(), divisors)  # PyTorch's own format holds them

# after fp8-run
assert all(0 < b - a < 0.02 for a, b in rows.values())

# after delayed
for k in seeds:
    (kept, once), (cut, later) = (errors(way(), trained[k][0].model, k, 1e5) for way in ways.values())
    assert kept[20] < 0.06 and cut[20] > 0.99
    assert once[20] > 0.2 > 0.03 > max(once[:20] + once[21:])
    assert min(later[21:37]) > 0.2 > 0.03 > max(later[:21] + later[37:])
    (kept, once), (cut, later) = (errors(way(), trained[k][0].model, k, 1e3) for way in ways.values())
    assert cut[20] > 0.9 and max(kept[20], *once, *later) < 0.06
    delayed = train(digits._replace(model=lambda s: in_8_bits(digits.model(s), ours.DelayedScale)), FP32_RECIPE, 60, k)
    assert abs(delayed.final_loss - sum(trained[k][1].loss[40:60]) / 20) < 0.005

# after adam-table
assert [round(row[1], 2) for row in rows.values()] == [16, 10, 10.03, 10, 10.03]
for kind in ("√v, a tensor", "√v, blocks"):
    assert all(abs(a - b) < 0.05 for a, b in zip(endings[kind], endings["fp32"], strict=True))
    assert rows[kind][2] < 0.002 < 0.02 < min(rows["v, blocks"][2], rows["v, a tensor"][2])
assert not rows["v, a tensor"][3].startswith("0")

# after published
assert all(abs(value - row[0]) < 0.3 for row in accuracy.values() for value in row if isinstance(value, float))

# after wire-run
own = simulate(
    averaged, world_size, (lambda comm, tensor: None, load_digits())
).results  # each rank's share of the mean
magnitude = torch.stack(own).double().abs().sum(0)
missed = {name: (gradient.double() - found["fp32"].double()).abs() for name, gradient in found.items()}
for name, u, least in ("fp16", 2**-11, 2**-25), ("bf16", 2**-8, 2**-134):
    assert (missed[name] <= world_size * (u * magnitude * (1 + u) + least)).all()
assert list(rows.values()) == [[whole, whole]] + [[whole // 2, whole // 2]] * 3
assert error["fp16"] < error["bf16"] < world_size * 2**-8

# after overflow
assert results["divide last"][0] == [inf, 2**-20, inf]
assert results["divide, round, add"][0] == [4096, 0, 3124] and results["round, divide, add"][0] == [4096, 0, inf]
assert all(rows == rows[:1] * 32 for rows in results.values())  # every rank sees the same

# after sum-error
for name in orders:  # the owner's fp32 misses a little, too
    assert all(a <= b + 2**-7 for a, b in zip(lines[name][1], bounds[name], strict=True))
for gradients_k in (of_ranks, *(gradients_of_ranks(512, seed=k).bfloat16() for k in range(2, 6))):
    of_ring = ours.sum_error(ours.sum_round_ring(gradients_k), gradients_k)
    assert of_ring.max() < 0.2 * 511 and of_ring.median() < 1
    one_sign = torch.stack([(gradients_k > 0).float().mean(0), (gradients_k < 0).float().mean(0)]).amax(0)
    assert (one_sign[of_ring.topk(8).indices] > 0.9).sum() >= 4 and one_sign.median() < 0.55
ones = torch.ones(4096, 1, dtype=bf16)
assert ours.sum_round_ring(ones) == 256 and ours.sum_up_tree(ones) == 4096

# after roofline clock
assert roof.ridge > 1

# after intensity
assert isclose(intensity["addition"], 1 / 12)
assert isclose(intensity["product, fp32"], 60 / 6) and isclose(intensity["product, fp16"], 60 / 3)
assert [round(kind.ridge) for kind in a100.values()] == [10, 77, 153]
assert list(sizes.values()) == [58, 460, 460]
waste = {n: -(-n // 128) * 128 / n - 1 for n in (129, 4097, 50_257)}
assert [round(each, 3) for each in waste.values()] == [0.984, 0.031, 0.001] and -(-50_257 // 128) * 128 == 50_304
assert 8 * a100["fp16, bf16"].ridge < 4096 / 3

# after place
assert work["softmax"].intensity < work["step of a GPT"].intensity < work["product, 512"].intensity

# after place clock
assert speed["product, 512"] > 5 * max(speed["add"], speed["relu"])

# after flash-run
for n, d, fast_memory in [(1024, 64, 2**14), (1024, 64, 2**16), (1000, 32, 2**13), (7, 8, 64), (1, 4, 1024)]:
    queries_to_values = torch.randn(3, n, d, generator=torch.Generator().manual_seed(seed + n))
    y, crossed = in_tiles(*queries_to_values, fast_memory)
    assert torch.allclose(y, with_table(*queries_to_values), atol=1e-5)
    assert crossed == 4 * 2 * n * d * (1 + -(-n // (fast_memory // (4 * d))))
assert [crossed for crossed, _ in rows.values()][1:] == [4 * (2 * 2**16 + 8 * 2**32 / 2**k) for k in (14, 15, 16)]
assert 9 < rows["the whole table"][0] / rows["tiles in 65,536 numbers"][0] < 11 and round(40.3 / 4.4, 1) == 9.2

# after compile
assert list(moved.values())[:3] == [22, 22, 2]
assert all(torch.allclose(way(), ours.gelu_as_one(x), atol=1e-5) for way in ways.values())

# after compile clock
assert seconds["nine operators"] > seconds["PyTorch's kernel"]

# after gpu clock
assert not costs or costs["from scratch"].seconds <= 1.05 * costs["torch.amp"].seconds

# after explore-answers
facts = of_network("autoencoder").fates(FP16, [2.0**11, 2.0**12, 2.0**30])
assert [f"{fate.flushed:.1%}" for fate in facts] == ["0.1%", "0.0%", "0.0%"] and f"{facts[2].overflow:.1%}" == "1.9%"

# after production-run
assert scales == own.scales and own.skipped > 3 and apart < 0.01
