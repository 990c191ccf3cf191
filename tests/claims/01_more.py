"""What the page '01 · More on data parallelism' says, asserted: a block behind each cell that shows it."""

# after ddp-run
assert all(ours < 1e-5 for ours, _ in rows.values())
assert rows["equal"][1] < 1e-5
assert (rows["uneven"][1] < 1e-5) == (world_size == 1)


def cured(comm):
    model = DistributedDataParallel(digits_model(seed + comm.rank))
    shares = list(range(1, comm.world_size + 1))
    part = dp.split_batch(batches[0], comm.world_size, shares=shares)[comm.rank]
    (loss_of(model, part) * len(part) / len(batches[0]) * comm.world_size).backward()
    gradient = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    return gradient, dp.state_hash(model.module), model.bucket_bytes_cap


for gradient, start, cap in run(cured, world_size).results:
    assert torch.allclose(gradient, gradient_of(batches[0]), atol=1e-6)
    assert (start, cap) == (dp.state_hash(digits_model(seed)), 25 * 2**20)
assert torch.distributed._DEFAULT_FIRST_BUCKET_BYTES == 2**20

# after spare-run
assert rows["DDP"].startswith("Expected to have finished reduction in the prior iteration")
assert max(float(rows[name]) for name in ("ours", "DDP, with the option")) < 1e-5

# after balance-cell
first_s = 3 * 12 * (0.03 - 0.01)  # three ranks wait for the slow one
assert 0.8 < first_s / sum(reports[True, "simulated"].trace.waiting_s) <= 1

# after balance-cell clock
waiting_s = {adapt: sum(reports[adapt, "emulated"].trace.waiting_s) for adapt in (False, True)}
assert waiting_s[True] < 0.6 * waiting_s[False]

# after balance-table
assert [round(1000 * computed_s) for computed_s, *_ in seconds.values()] == [360, 150]
for computed_s, virtual_s, _ in seconds.values():
    assert computed_s < virtual_s < computed_s + 0.01  # the messages

# after balance-table clock
for adapt, (*_, real_s) in zip((False, True), seconds.values(), strict=True):
    assert real_s > dp.slowest_rank_s(reports[adapt, "emulated"].results[0][0][-1].lengths, speeds) / 100
assert seconds["equal"][-1] > 1.5 * seconds["by speed"][-1]

# after balance-weights
*weighted, skewed_by = rows.values()
assert max(weighted) < 1e-6
assert skewed_by > 1e-3

# after bn-scatter
for size, (seen_ratio, _, error) in rows.items():
    assert abs(seen_ratio / experiments.expected_scatter(activations, size).variance_ratio - 1) < 0.02
    assert (error > 1) == (size == 2)

# after bn-micro
assert torch.allclose(inside + between, batch_values.double().var(0, correction=0))  # nothing else is in it
assert 0.4 < share < 0.6
assert round(rows[24][-1], 2) == 0.92

# after bn-equal
assert [*rows.values()] == [1, 1, 1]
assert apart < 1e-5

# after bn-weigh
assert wrong_by["gradient"] > 0.03
assert wrong_by["loss"] < 1e-5


def uneven(comm):
    model = dp.DataParallel(comm, dp.synchronize_batch_norm(comm, digits_model(seed, batch_norm=True)))
    model.share = [30 / 48, 12 / 48, 6 / 48][comm.rank]


try:
    refused = simulate(uneven, 3)
except RankError as error:
    refused = error
assert "SyncBatchNorm" in str(refused)

# after bn-train
together = losses["synchronized", 2]
assert max(together) - min(together) < 1e-5
assert min(losses["own", 2] + losses["own, estimated again", 2]) > max(together) + 0.3
again = losses["own, estimated again", 2]
assert len({*again}) == 1 < len({*losses["own", 2]})
assert again[0] > min(losses["own", 2]) - 0.05
assert losses["own, estimated again", 8][0] < losses["synchronized", 8][0] < min(losses["own", 8])

# after rnn-time
alone, waits, cut, piped = rows.values()
assert [waits[0], cut[0], piped[0]] == [alone[0], alone[0] / 4, alone[0] * (8 + 4 - 1) / (8 * 4)]
assert (piped[0], 3 / (8 + 4 - 1)) == (33, 3 / 11)
assert max(waits[1], piped[1]) < 1e-5
assert cut[1] > 0.05
arguments = (model, streams), {"window": 16, "steps": 6}
(stream_losses, one), (_, four) = (simulate(dp.train_on_streams, n, *arguments).results[0] for n in (1, 4))
assert stream_losses[-1] < stream_losses[0]
assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(one.parameters(), four.parameters(), strict=True))

# after local
assert trained[16, False][1] < trained[1, False][1] + 0.1
assert trained[16, True][1] > trained[1, True][1] + 0.3
assert 0.05 < trained[16, False][0] / trained[1, False][0] < 0.07
assert trained[96, False][1] < trained["never", False][1]
assert trained["never", True][1] > 2 * trained[96, True][1]

# after gossip
assert torch.allclose(seen.sum(0), torch.tensor(8.0), atol=1e-4)  # the sum stays
shrink = [(seen[:, n + 1] - 1).norm() / (seen[:, n] - 1).norm() for n in (10, 11)]
assert all(abs(ratio - dp.gossip_factor(8)) < 0.01 for ratio in shrink)
assert (round(dp.gossip_factor(8), 3), round(dp.gossip_factor(64), 4)) == (0.805, 0.9968)
assert all(3.8 < dp.rounds_to_agree(2 * n) / dp.rounds_to_agree(n) < 4.3 for n in (8, 16, 32, 64))

# after gossip-training
exact, near = rows.values()
assert (round(1000 * exact[0]), round(1000 * near[0])) == (14, 2)
assert near[1] < exact[1] + 0.1
assert near[2] > exact[2] + 0.2

# after noise-run
assert all(50 < times < 130 for _, times in rows.values())

# after noise-training
growth = sorted(training[-1].noise.scale / training[0].noise.scale for training in trainings)
assert growth[1] > 1
assert growth[2] > 2
assert all(0.7 < training[2].noise.scale / training[0].noise.scale < 1.1 for training in trainings)

# after golden-mean
assert goals[0].updates > 5 * goals[-1].updates
assert goals[-1].examples > 5 * goals[0].examples
of_32, of_256 = goals[2], goals[-1]
assert of_256.updates > 0.5 * of_32.updates
assert of_256.examples > 4 * of_32.examples
assert round(critical) == 27

# after zero-memory
published = {0: 120.0, 1: 31.4, 2: 16.6, 3: 1.88}  # GB, Rajbhandari et al. 2019, table 1
for stage, gigabytes in published.items():
    assert abs(zero.zero_bytes(7.5e9, 64, stage) / 1e9 / gigabytes - 1) < 0.005

# after zero-table
assert max(wrong) < 1e-3  # of a step of 0.01: Adam enlarges what rounding leaves of a gradient near 0
assert [row[-1] for row in rows.values()] == ["1.50 Ψ", "1.50 Ψ", "2.25 Ψ"]
layer, shard = max(layer_lengths), held.gradients
assert peaks[0] == held.parameters + layer
assert abs(peaks[1] - (shard - layer / 4 + 2 * layer)) < 2

# after zero-accumulate
assert [row[1] for row in rows.values()] == ["1.50 Ψ", "3.75 Ψ", "9.00 Ψ"]
for k in (2, 3, 8):
    sent = [zero.zero_elements_sent(layer_lengths, 4, stage, k)[0] / parameters / 0.75 for stage in (1, 2, 3)]
    assert all(abs(psi - law) < 0.01 * law for psi, law in zip(sent, (2, k + 1, 3 * k), strict=True))

# after fsdp-run
assert max(held for held, _ in rows.values()) < 1.2 * len(row) / world_size
assert apart < 1e-4
assert [whole for _, whole in rows.values()] == [max(layer_lengths), max(layer_lengths), len(row)]

# after ahead-one
exchange_s = slow_links.seconds(0, 1, 20_000)
assert (round(1000 * units[0].forward_s), round(1000 * units[0].backward_s), round(1000 * exchange_s)) == (6, 12, 3)
assert [round(1000 * reports[ahead].seconds) for ahead in (False, True)] == [105, 78]
assert round(1000 * (4 * (units[0].forward_s + units[0].backward_s) + 2 * exchange_s)) == 78
assert [len(report.trace.messages) for report in reports.values()] == [22, 22]  # eleven exchanges of two ranks

# after ahead-train-run
assert [whole for whole, _ in rows.values()] == [1, 2]
assert max(apart for _, apart in rows.values()) < 1e-4

# after ahead-limit
by_rate = dict(zip(gigabits, zip(*minutes.values(), strict=True), strict=True))
assert all(-0.02 * plain < ahead - plain < 0.005 * plain for rate, (_, ahead, plain) in by_rate.items() if rate >= 8)
gather_s = {each: 31 * (10e-6 + 5_000_000 / 32 / (each * 125e6)) for each in gigabits}
assert (round(1000 * units[0].forward_s, 1), round(1000 * gather_s[5])) == (5.3, 8)
assert gather_s[8] < units[0].forward_s < gather_s[5]
assert round(59 * gather_s[5] * updates / 60 / by_rate[5][1], 2) == 0.99
assert [round(each) for each in by_rate[5][1:]] == [113, 102]
assert all(needed > 1.1 * ahead for needed, ahead, _ in by_rate.values())
