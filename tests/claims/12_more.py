"""What page 12 · More says, as asserts: each block runs behind the cell that its head names."""

# after interval-llama
import math

table = {row[0]: row[1:] for row in rows}
assert table["5 min"][1] > 0.899 > table["10 min"][1] and max(row[3] for row in rows) < 0.9
for interval_s, save_s, restart_s in ((3600, 60, 600), (1200, 60, 600), (300, 5, 300)):  # the lecture's sum is higher
    parts = ours.failure_cost_s(interval_s, save_s, llama.mtbf_s, restart_s=restart_s)
    assert sum(parts.values()) > llama.mtbf_s * ours.waste(interval_s, save_s, llama.mtbf_s, restart_s)

# after interval-meta
assert [3 < row[4] < 4 for row in rows] == [True, True, False, False] and all(0.97 < row[4] < 1.03 for row in rows[2:])
opt = ours.OPT_175B
assert opt.failures == 105 and 3.5 < llama.gpu_mtbf_years / opt.gpu_mtbf_years < 4
assert round(rows[1][3]) == 29

# after goodput
assert 0.69 < rows[0][1] < 0.73 and rows[1][1] > 0.9 and rows[0][5] < rows[0][1] - 0.02 and rows[1][5] > rows[1][1]
for row, interval_s in zip(rows, (3600, 300), strict=True):
    assert math.isclose(sum(row[1:5]), 1, abs_tol=1e-6)
    assert abs(1 - ours.waste(interval_s, 5.0, mtbf_s, 300) - row[1]) < 0.02

# after flip-bits
assert lines["right after"][1][30] == 1e3 and max(lines["right after"][1][:10]) < 1e-5
others = sorted(max(change[:30] + change[31:]) for change in after)
assert others[4] < 0.05 and others[6] < 0.1
one = torch.tensor([0.01])
experiments.flip_bit(one, 0, 30)
assert math.isclose(one.item(), 0.01 * 2**128, rel_tol=1e-6)

# after flip-hashes
assert [row[2] for row in rows] == [False, True, False, True] and [row[3] for row in rows] == [None, None, None, 1]

# after flip-table
seen = [[word != "–" for word in row[1:]] for row in rows]
assert all(any(each) for each in seen) and not any(all(column) for column in zip(*seen, strict=True))
low = [simulate(experiments.corrupted_step, 3, (digits, "in the buffer"), {"bit": bit}) for bit in (0, 7, 8, 31)]
assert [report.results[0][experiments.CHECKS[1]].wrong for report in low] == [False, False, True, True]

# after background-torn
assert rows[0] == (True, 0, 0) and rows[1][1] != rows[1][2]

# after async-save-run
import inspect

from torch.distributed.checkpoint import state_dict_saver

assert Path(folder / "save" / ".metadata").exists() and Path(folder / "async" / ".metadata").exists()
assert "A CPU backend must be enabled for async save" in inspect.getsource(state_dict_saver)

# after async-save-run clock
assert rows[1][1] < rows[0][1] / 2

# after slow-factors
assert [row[2] for row in rows] == [8, 24, 24] and len(links) == 56
assert [round(row[1]) for row in rows] == [8, 8, 16] and [round(row[3]) for row in rows] == [84, 45, 54]
assert 9.9 < rows[0][3] / rows[0][1] < 10.01 and 3.2 < rows[2][3] / rows[2][1] < 3.4
assert all(8 < row[4] / row[1] < 10.01 for row in rows)
assert max(rows, key=lambda row: row[1])[0] == "double_tree"

# after slow-waits
assert [rank for rank in range(8) if link[rank] == 0] == [0, 1]
assert [rank for rank in range(8) if slow_rank[rank] == 0] == [2, 3, 4]
assert all(wait > 0 for wait in tree)
for p in (3, 4, 5, 16):
    weak = Network(1e-4, 1e9, stragglers={1: 10.0})
    trace = simulate(ring_all_reduce, p, (torch.zeros(1_000_000, device="meta"),), network=weak).trace
    assert [rank for rank in range(p) if abs(trace.waiting_s[rank]) < 1e-9] == ([1] if p == 3 else [0, 1, 2])
assert [rank for rank, wait in enumerate(waits_ms(ring_all_reduce, slow_links={(0, 1): 2.0})) if wait == 0] == list(
    range(8)
)

# after slow-find
assert not any((a, b) == (0, 1) for a, b in zip(around, around[1:] + around[:1], strict=True))

# after day-one-run
assert rows[0][1] > 75 and rows[1][1] < 30

# after day-one-port
assert [row[1] for row in rows] == ["weight", "module.weight", "_orig_mod.weight"]
assert all(row[2] == "weight" for row in rows)

# after elastic-run
assert wrong == 0 and rows[-1][1] == 2 and rows[0][1] == 3 and 32 * 16 == 512
assert [step.step for step in steps if step.counts] == list(range(1, 33))

# after shards-run
assert [row[0] for row in rows] == ["read by fewer", "trained on by fewer", "trained on by as many"]
assert rows[0][2] == rows[2][2] == "0" and 0 < float(rows[1][2]) < 1e-5
for ranks in (5, 1):
    shutil.copytree(folder / "zero", folder / f"zero, {ranks}", ignore=lambda *_: [])
    weights, held = lives(ranks, f"zero, {ranks}", 12)
    assert (weights - at_12).abs().max() < 1e-5 and sum(held) == len(weights) == sum(
        lives(ranks, f"zero, {ranks}", 12)[1]
    )

# after shards-dcp-run
assert [row[1] for row in rows] == [334, 334, 332] and all(row[2] for row in rows) and files == world_size + 1

# after delivery-naive
assert {row[3] < 5050 for row in rows} == {True, False}


def sums(**shares):
    """What arrives over wires that do one of the three only."""
    one = protocols.LossyWire(**shares, latency_s=0.05)
    return [
        sum(protocols.deliver(protocols.SendOnce(numbers), protocols.KeepAll(), one, seed=draw).delivered)
        for draw in range(8)
    ]


assert max(sums(lose=0.5)) < 5050 < min(sums(double=0.5)) and set(sums(delay=1.0)) == {5050}

# after delivery-repeat
assert len(set(got)) == 100 and sum(got) > 5050

# after delivery-receiver
assert delivered == list(numbers) and sum(delivered) == 5050

# after delivery-property
assert right == tried == 54
for draw in range(1, 4):
    for lose, double, delay in ((0.8, 0.8, 0.8), (0.3, 0.0, 0.8), (0.8, 0.3, 0.0)):
        harsh = protocols.LossyWire(lose, double, delay, latency_s=0.05)
        for timeout_s in (0.02, 0.4):
            sender = protocols.StopAndWait(range(20), timeout_s)
            assert protocols.deliver(sender, KeepNext(), harsh, seed=draw).delivered == list(range(20))

# after delivery-bit
assert rows[0][1] == rows[1][1] == 0 < rows[2][1]
assert abs(2**32 * 8 / 100e9 - 0.34) < 0.005

# after delivery-cost
assert all(math.isclose(row[2], row[1], rel_tol=0.08) for row in rows) and rows[-1][1] == 4
assert all(math.isclose(row[1], protocols.transmissions_per_message(protocols.LossyWire(row[0]))) for row in rows)
assert math.isclose(rows[0][3], 0.1)

# after delivery-window
small, large = lines["window of 1"][1], lines["window of 102"][1]
assert math.isclose(small[0], 102) and math.isclose(large[0], 1.101, rel_tol=0.01)
assert large[3] / large[0] > 4 > 2 > small[3] / small[0]
assert all(5 * (a - large[0]) < b - small[0] for a, b in zip(large[2:], small[2:], strict=True))

# after neighbor-run
assert again == never and abs(numbers - 3 * parameters / world_size) < 10
assert round(405e9 * 12 / 1e12, 1) == 4.9 and round(405e9 * 12 / 16_384 / 1e6) == 297
assert round(405e9 * 12 / 2e12, 1) == 2.4 and round(1e3 * 405e9 * 12 / 16_384 / 50e9) == 6
layer = nn.Linear(1000, 1000)
optimizer = torch.optim.AdamW(layer.parameters())
layer(torch.ones(1, 1000)).sum().backward()
optimizer.step()
torch.save({"model": layer.state_dict(), "optimizer": optimizer.state_dict()}, folder / "weight.pt")
assert 12 < (folder / "weight.pt").stat().st_size / 1_001_000 < 12.01
for ranks in (2, 3, 5):
    assert run(with_copies, ranks, args=(True,)).results[0][0] == run(with_copies, ranks, args=(False,)).results[0][0]

# after placing
assert math.isclose(rows[1][1], 2 / 15) and math.isclose(rows[1][2], 1 / 15)
for n in (4, 6, 30):
    assert math.isclose(ours.lost_share([(m, (m + 1) % n) for m in range(n)], 2), 2 / (n - 1))
    assert math.isclose(ours.lost_share([(m, m ^ 1) for m in range(n)], 2), 1 / (n - 1))

# after storm-calm
lowest = {row[0]: min(row[1:]) for row in rows}
assert all(lowest[name] < 0.8 * lowest["one machine alone"] for name in ("all-reduce", "asynchronous server", "gossip"))
assert all(min(rates) < rate < max(rates) for rate in best.values())

# after storm-run
ends = {design: [tried(design, best[design], draw, 100.0).loss[-1] for draw in range(5)] for design in designs}
for design in ("asynchronous server", "gossip"):
    assert sum(a < b for a, b in zip(ends[design], ends["all-reduce"], strict=True)) >= 4
shares_kept = [row[2] for row in rows[:4]]
assert shares_kept == sorted(shares_kept) and shares_kept[0] < 1 / 3 and shares_kept[3] > 0.7
assert 12 < (100 + 10) / 8 < 14
