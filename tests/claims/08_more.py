"""What the page '08 · More on mixed precision' says, asserted: a block behind each cell that shows it."""

# after chance-count
from math import inf, isclose

assert [row[1:] for row in rows] == [(0, 0), (16, 1)] and ways["by chance"].max() == 1 + 2**-7

# after chance-run
ends = [history.final_loss for history in curves.values()]
assert ends[1] > ends[0] + 0.2 and abs(ends[2] - ends[0]) < 0.05

# after wire-table
whole = 2 * 2410 * 4 * (world_size - 1)
assert list(sent.values()) == [whole] + [whole // 2] * 3
own = simulate(averaged, world_size, args=(lambda comm, tensor: None, load_digits())).results
magnitude = torch.stack(own).double().abs().sum(0)
missed = {name: (gradient.double() - found["fp32"].double()).abs() for name, gradient in found.items()}
for name, u, least in ("fp16", 2**-11, 2**-25), ("bf16", 2**-8, 2**-134):
    assert (missed[name] <= world_size * (u * magnitude * (1 + u) + least)).all()

# after overflow
assert results["round, add, divide"][0] == [inf, 2**-20, inf]
assert results["divide, round, add"][0] == [4096, 0, 3124] and results["round, divide, add"][0] == [4096, 0, inf]
assert all(rows == rows[:1] * 32 for rows in results.values())  # every rank sees the same
assert FP16.round(3125.0) == 3124

# after sum-error
for name in orders:  # the owner's fp32 misses a little, too
    assert all(a <= b + 2**-7 for a, b in zip(lines[name][1], bounds[name], strict=True))
assert bounds["ring"][-1] == 511 and lines["owner"][1][-1] < 1.02
for gradients_k in (of_ranks, gradients_of_ranks(512, seed=seed + 2).bfloat16()):
    of_ring = ours.sum_error(ours.sum_round_ring(gradients_k), gradients_k)
    assert 15 < of_ring.max() < 0.2 * 511 and of_ring.median() < 1
    one_sign = torch.stack([(gradients_k > 0).float().mean(0), (gradients_k < 0).float().mean(0)]).amax(0)
    assert (one_sign[of_ring.topk(8).indices] > 0.9).sum() >= 4 and one_sign.median() < 0.55
if seed == 0:
    assert 35 < errors["ring"][-1].max() < 45
assert ours.sum_round_ring(torch.ones(4096, 1, dtype=torch.bfloat16)) == 256

# after roofline-run clock
assert roof.ridge > 1

# after intensity
assert isclose(1 / (0.1 + 0.9 / 16), 6.4) and 312 / 19.5 == 16
assert [round(row[2]) for row in rows] == [10, 77, 153] and [row[4] for row in rows] == [58, 460, 460]
assert [round(row[3]) for row in rows] == [17, 17, 33] and rows[0][3] > rows[0][2] and rows[2][3] < rows[2][2]
assert isclose(ours.count_work(torch.add, torch.ones(1200), torch.ones(1200)).intensity, 1 / 12)
square = torch.ones(60, 60)
assert isclose(ours.count_work(torch.mm, square, square).intensity, 60 / 6)
assert isclose(ours.count_work(torch.mm, square.half(), square.half()).intensity, 60 / 3)
worked = {n: -(-n // 128) * 128 for n in (129, 50_257)}  # in whole tiles
assert worked == {129: 256, 50_257: 50_304} and 50_304 % 8 == 0
assert not torch.backends.cuda.matmul.allow_tf32

# after place
assert work["softmax"].intensity < work["step of a GPT"].intensity < work["product, 512"].intensity
assert f"{work['step of a GPT'].intensity:.1f}" == "6.4" and work["step of a GPT"].intensity < 10 < 153

# after place clock
assert speed["product, 512"] > 5 * max(speed["add"], speed["relu"])

# after flash-run
for n, d, fast_memory in [(1024, 64, 2**14), (1024, 64, 2**16), (1000, 32, 2**13), (7, 8, 64), (1, 4, 1024)]:
    queries_to_values = torch.randn(3, n, d, generator=torch.Generator().manual_seed(seed + n))
    y, crossed = in_tiles(*queries_to_values, fast_memory)
    assert torch.allclose(y, with_table(*queries_to_values), atol=1e-5)
    assert crossed == 4 * 2 * n * d * (1 + -(-n // (fast_memory // (4 * d))))
assert [row[1] for row in rows][1:] == [4 * (2 * 2**16 + 8 * 2**32 / 2**k) for k in (14, 15, 16)]
assert 9 < rows[0][1] / rows[3][1] < 11 and f"{rows[0][1] / 1e6:.0f}" == "26" and f"{rows[3][1] / 1e6:.1f}" == "2.6"

# after fusion-run
counted = {
    name: ours.count_work(way).memory_bytes // x.nbytes for name, (_, way) in ways.items() if "compile" not in name
}
assert counted == {name: arrays for name, (arrays, _) in ways.items() if "compile" not in name}
assert 9 * 1 + 4 * 2 + 5 * 1 == 22 and 22 / 2 == 11
same = [way() for name, (_, way) in ways.items() if "only" not in name]
assert all(torch.allclose(each, ours.gelu_as_one(x), atol=1e-5) for each in same)

# after fusion-run clock
assert seconds["nine operators"] > seconds["PyTorch's kernel"]

# after forward-overflow
assert rows[0][1:3] == (inf, inf) and not normalized(activation).any()
assert isclose(normalized(activation.float())[0].item(), 1.2245, rel_tol=1e-3)
assert round(activation.float().square().mean().sqrt().item()) == 245
with torch.autocast("cpu", dtype=torch.float16):
    of_product = torch.ones(4, 4) @ torch.ones(4, 4)
    assert (3 * of_product).exp().dtype == torch.float16 and (3 * of_product).exp().isinf().all()

# after first-bad-run
*others, bad, cured = [row[1:] for row in rows]
assert all(float(number) < 100 for row in others for number in row[:3])
assert float(bad[0]) < FP16.largest and bad[1] == "inf" and bad[3] == 5 and bad[4] in ("nan", "inf")
assert float(cured[1]) > FP16.largest and cured[3] == 5 and float(cured[4]) < inf

# after fp8-scale
assert rows[1][1] > 0.8 and rows[2][1] < 0.01 and ours.fates(gradients * scale, E5M2).overflow == 0
assert E5M2.exponent_bits == FP16.exponent_bits and E5M2.epsilon == 2 * ours.E4M3.epsilon and ours.E4M3.largest == 448

# after fp8-run
assert all(0 < b - a < 0.02 for _, a, b in rows)

# after delayed
for k in seeds:
    (kept, once), (cut, later) = (errors(way(), trained[k][0].model, k, 1e5) for way in ways.values())
    assert kept[20] < 0.06 and cut[20] > 0.99
    assert once[20] > 0.2 > 0.03 > max(once[:20] + once[21:])
    assert min(later[21:37]) > 0.2 > 0.03 > max(later[:21] + later[37:])
    (kept, once), (cut, later) = (errors(way(), trained[k][0].model, k, 1e3) for way in ways.values())
    assert max(kept[20], *once, *later) < 0.06

# after outlier
zeros, error, scale_bytes = zip(*(row[1:] for row in rows), strict=True)
assert 0.16 < zeros[0] < 0.185 and sorted(zeros, reverse=True)[:2] == [zeros[0], zeros[2]]
assert max(zeros[1], *zeros[3:]) < 0.001 and max(error[1], *error[3:]) < 0.03 < error[2] < error[0]
assert scale_bytes[4] == scale_bytes[3] == 1 / 32

# after e8m0
worst = {row[0]: row[1] for row in rows}
assert worst["fp32"] < 1e-6 and worst["e8m0, up"] <= 1 / 16 < worst["e8m0, OCP"] <= 1 / 8
assert 0.28 < worst["e8m0, nearest"] <= 1 - 2**-0.5 + 1e-6
over = {row[0]: int(row[2].split()[0]) for row in rows}
assert over["fp32"] == over["e8m0, up"] == 0 and 180 < over["e8m0, nearest"] < 320
divisors = 1 / ours.in_fp8_blocks(values, (1, 32)).scale
assert torch.equal(divisors.to(torch.float8_e8m0fnu).float(), divisors)  # PyTorch's own format holds them

# after adam-table
assert [round(row[1], 2) for row in rows] == [8, 2, 2.03, 2, 2.03]
for kind in ("√v, a scale per tensor", "√v, blocks of 256"):
    assert all(abs(a - b) < 0.05 for a, b in zip(endings[kind], endings["fp32"], strict=True))
lost = {row[0]: row[2] for row in rows}
assert max(lost["√v, a scale per tensor"], lost["√v, blocks of 256"]) < 0.002
assert 0.02 < min(lost["v, a scale per tensor"], lost["v, blocks of 256"])
assert not rows[1][3].startswith("0") and rows[3][3].startswith("0") and rows[4][3].startswith("0")
