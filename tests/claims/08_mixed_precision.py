"""What the page '08 · Mixed precision' says, asserted: a block behind each cell that shows it."""

# after halved
from math import isnan

assert first_losses[0] < 1 and all(map(isnan, first_losses[1:]))
assert torch.tensor([1e-9, 1e-8]).half().tolist() == [0, 0]
assert abs(0.001 * 0.001**2 / 1e-9 - 1) < 1e-9  # a thousandth of the square of 0.001
assert 312 / 19.5 == 16

# after half
arrived = {"fp32": goal, "fp16": steps["fp16, Adam in fp32"]}
assert goal < 300 and (arrived["fp16"] is None or arrived["fp16"] > 1.5 * goal)
assert half.final_loss > 1.05 * fp32.final_loss
if seed == 0:
    assert goal == 156 and 2 * goal < arrived["fp16"] < 2.4 * goal
stuck = train(AUTOENCODER, Recipe(torch.float16, scale=None, master=False), 100, seed).model
drawn = stuck(next(AUTOENCODER.batches(9))[0].half()).float()
images = next(AUTOENCODER.batches(9))[0]
assert drawn.std(0).max() < 0.02 and (drawn.mean(0) - images.mean(0)).square().mean() < 0.003  # one picture for all

# after ranges
assert one_and_a_half.item() == 1.5 and (1 + 512 / 1024) * 2**0 == 1.5 and FP16.bias == 15
assert [row[1] for row in rows][1] == 65504 and rows[1][3] == 2**-24 and FP16.round(2**-25) == 0
assert FP16.round(1.01 * 2**-25) == 2**-24
assert BF16.exponent_bits == FP32.exponent_bits and BF16.epsilon == 8 * FP16.epsilon
numbers = torch.randn(100)
upper = (numbers.view(torch.int32) >> 16) << 16
assert torch.equal(upper.view(torch.float32).bfloat16().float(), upper.view(torch.float32))
spacings = FP16.spacing(torch.tensor([0.0, 1e-6, 2.0**-14]))
assert spacings.unique().numel() == 1  # of all subnormal numbers, and of the smallest normal ones

# after long-sum
assert [row[1] for row in rows] == [4096, 2048, 256] and [row[2] for row in rows] == [4096] * 3
assert FP16.spacing(2048.0) == 2 and FP16.round(2049.0) == 2048
assert torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
assert torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
for dtype in (torch.float16, torch.bfloat16):
    some = torch.rand(4096, generator=torch.Generator().manual_seed(seed)).to(dtype)
    assert some.sum() == some.double().sum().to(dtype)  # rounded once
for number_format, codes, u in (FP16, (0x0400, 0x7C00), 2**-11), (BF16, (0x0080, 0x7F80), 2**-8):
    normal = number_format.decode(torch.arange(*codes))  # all positive normal numbers
    assert (number_format.round(normal * (1 + u)) == normal).any()
    assert torch.equal(number_format.round(normal * (1 + u / 2.001)), normal)

# after update-run
assert set(rows["fp16 alone"]) == {1} and rows["its fp16"][-1] == rows["fp32 master copy"][-1] == 1 + 16 * 2**-11
assert FP16.spacing(1.0) == 2 * 2**-11

# after memory
assert rows[4][1:] == (16, 16) and rows[5][1] == 2 * rows[5][2]

# after copy
copied_steps = steps["with a master copy"]
assert copied_steps is None or copied_steps > 1.5 * goal
if seed == 0:
    assert 330 < copied_steps < 375

# after histogram
share = ours.fates(gradients, FP16)
assert 0.25 < share.lost < 0.5 and share.normal < 0.01 and share.overflow == 0 and share.subnormal > 0.5
assert sum(isinstance(layer, nn.Sigmoid) for layer in early) == 5 and x.shape == (512, 64)
if seed == 0:
    assert f"{share.lost:.0%}" == "33%"

# after moved
assert ours.fates(gradients, FP16, 2**16).normal > 0.9
assert torch.equal(gradients * 2**16 / 2**16, gradients)
powers = gradients[gradients != 0].abs().log2()
assert (powers > powers.max() - 20).float().mean() > 0.98
assert FP16.largest / FP16.smallest_normal > 0.99 * 2**30

# after by-layer
errors = {row[0]: row[1:] for row in rows}
assert min(errors["1"][:2]) > 0.7 and max(errors["1,024"]) < 0.02
if seed == 0:
    assert errors["1"][1] > 1 and max(errors["1,024"]) < 0.006
    assert errors["8"][0] > 0.5 and max(errors["8"][1:]) < 0.1
    without, of_fp32 = weight_gradients(torch.float16, 8)[0], true[0]
    assert nn.functional.cosine_similarity(without.flatten(), of_fp32.flatten(), 0) > 0.7

# after eight
assert goal <= steps["copy, loss times 8"] <= 1.25 * goal and steps["copy, loss times 1,024"] == goal
assert train(AUTOENCODER, Recipe(master=False), 300, seed).first_below(0.068) == goal
if seed == 0:
    assert 165 <= steps["copy, loss times 8"] <= 177

# after search
assert searching.skipped > 10 and exponents[:11] == list(range(30, 19, -1))
assert 23 <= min(exponents[100:]) and max(exponents[100:]) <= 26
assert (ours.DynamicScaler().scale, ours.DynamicScaler().growth_interval) == (2**16, 2000)
assert torch.amp.GradScaler("cpu").get_scale() == 2**16

# after heart-run
assert steps["copy, dynamic scale"] == goal

# after clip
assert orders["unscale, then clip"] == goal
late = orders["clip, then unscale"]
assert late is None or late > 1.6 * goal
if seed == 0:
    assert 390 < late < 430
assert 1 / 65536 < 1.6e-5


def longest_gradient(steps=300):
    network = AUTOENCODER.model(seed)
    adam = AUTOENCODER.optimizer(list(network.parameters()))
    lengths = []
    for _, (batch, _) in zip(range(steps), AUTOENCODER.batches(seed)):
        adam.zero_grad()
        mse_loss(network(batch), batch).backward()
        lengths.append(nn.utils.clip_grad_norm_(network.parameters(), 1e9).item())
        adam.step()
    return max(lengths)


assert longest_gradient() < 1
mse_loss(early(x), x).backward()
whole = torch.cat([weight.grad.flatten() for weight in early.parameters()])
assert ((whole / whole.norm() / 65536).abs() < 1e-8).float().mean() > 0.55
early.zero_grad()

# after bf16
assert steps["bf16, copy, no scale"] == goal
alone = train(AUTOENCODER, Recipe(torch.bfloat16, scale=None, master=False), 300, seed).first_below(0.068)
assert goal <= alone <= 1.06 * goal

# after slow
assert 250 < step < 310 and (seed != 0 or 274 <= step <= 282)
ends = {name: history.final_loss for name, history in curves.items()}
assert ends["bf16 alone"] > ends["fp32"] + 0.2 and abs(ends["bf16, master copy"] - ends["fp32"]) < 0.02
fp16_alone = train(slow, Recipe(scale=None, master=False), 400, seed).final_loss
assert abs(fp16_alone - ends["fp32"]) < 0.02

# after measured
(first_fp16, first_bf16, second_fp16, second_bf16) = (row[2:] for row in rows)
assert 0.25 < first_fp16[0] < 0.5 and first_bf16[0] == 0 and max(second_fp16[0], second_bf16[0]) < 0.005
assert 0.45 < second_bf16[1] < 0.56 and max(first_bf16[1], second_fp16[1]) < 0.1 and first_fp16[1] < 0.01


def swallowed_by_number(problem, dtype):
    before, after = (train(problem, in_fp32, count, seed).model.parameters() for count in (100, 101))
    swallowed = total = 0
    for old, new in zip(before, after):
        update = (new - old).detach()
        stays = (old.detach().to(dtype).float() + update).to(dtype) == old.detach().to(dtype)
        swallowed += (stays & (update != 0)).sum().item()
        total += (update != 0).sum().item()
    return swallowed / total


assert 0.4 < swallowed_by_number(AUTOENCODER, torch.bfloat16) < 0.65

# after production-program
assert steps["torch.amp, fp16"] == goal
network = AUTOENCODER.model(seed)
with torch.autocast("cpu", dtype=torch.float16):
    seen = network(x)
mse_loss(seen.float(), x).backward()
assert all(weight.grad.dtype == torch.float32 for weight in network.parameters()) and seen.dtype == torch.float16

# after explorer
from course_lib.widgets.precision import NETWORKS, of_network

fates = of_network(NETWORKS[0]).fates(FP16, [2.0**k for k in range(33)])
good = [k for k, fate in enumerate(fates) if fate.lost == fate.overflow == 0]
assert good == list(range(18, 31)) and f"{fates[0].lost:.0%}" == "33%"

# and in "Check yourself"
gradient = torch.tensor([3e-9])
normal = [k for k in range(60) if ours.fates(gradient, FP16, 2.0**k).normal]
assert ours.fates(gradient, FP16).lost == 1 and normal == [*range(15, 45)]
assert ours.fates(gradient, FP16, 2.0**45).overflow == 1
assert BF16.round(0.5 + 2**-9) == 0.5 < BF16.round(0.5 + 2 * 2**-9) and BF16.spacing(0.5) == 2**-8
