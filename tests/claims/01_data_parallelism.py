"""What the page '01 · Data parallelism' says, asserted: a block behind each cell that shows it."""

# after stakes
assert needed == GOYAL_2017.needed_bits_per_s == 12.8e9
assert round(GOYAL_2017.efficiency, 2) == 0.89

# after law
assert len(hashes) == 1
assert distance(alone, together[0]) < 1e-5

# after uneven-run
assert all(weighted < 1e-5 for _, weighted in rows.values())
assert 0.001 < wrong_by(order[:402], [101, 101, 100, 100])[0] < 0.01
assert rows["6, 3, 1"][0] > 0.1 and 0.01 < rows["13, 13, 12, 12"][0] < 0.1

# after epoch
assert sorted(seen) == list(range(10))
assert twice == 2
assert first == second != list(sampler)

# after start-cell
assert max(losses[False]) < before - 0.3 and min(losses[False]) > losses[True][0] + 0.3
assert models == {False: 4, True: 1}

# after three-ways
many, few = traces.values()
assert few.total_bytes == many.total_bytes and len(many.messages) == 80 * len(few.messages)
assert many.seconds < 80 * 6 * 50e-6 / 0.95  # latencies, and hardly anything else
assert 40 < many.seconds / few.seconds < 48

# after overlap
from course_lib import MismatchError

assert steps[True].seconds < steps[False].seconds


def in_two_orders(comm, names):
    apples, oranges = torch.ones(1), torch.full((1,), 10.0)
    for name, fruit in zip(names, (apples, oranges) if comm.rank else (oranges, apples), strict=True):
        ring_all_reduce(comm, fruit, name=name[comm.rank])
    return apples.item(), oranges.item()


assert run(in_two_orders, 2, args=(["  ", "  "],)).results == [(11, 11), (11, 11)]  # for 2 and 20
try:
    refused = run(in_two_orders, 2, args=(["ab", "ba"],))
except MismatchError as error:
    refused = error
assert "in the same order" in str(refused)

# after events
assert leaves_ms == [102, 142, 182]

# after overlap-model
for step, overlap in zip(computed.values(), (True, False), strict=True):
    assert abs(step.seconds - steps[overlap].results[0]) < 1e-9  # the simulated step, to the last digits
    assert all(abs(bucket.end_s - bucket.start_s - 0.036) < 1e-9 for bucket in step.all_reduces)

# after buckets-picture
assert sizes[0] < best < sizes[-1]


def best_at(layers, latency_s):
    on = {"network": Network(latency_s=latency_s, bytes_per_s=30e6), "world_size": 2, "overlap": True}
    return min(sizes, key=lambda size: dp.step_timeline(layers, bucket_bytes=size, **on).seconds)


fewer_bytes = dp.equal_layers(24, parameter_bytes=24 * 31_250, forward_s=0.06, backward_s=0.12)
assert best_at(layers, 1e-4) < best == best_at(layers, 2e-3) < best_at(layers, 2e-2)
assert best_at(fewer_bytes, 2e-3) != best

# after buckets-picture clock
for line, markers in zip(curves[::2], curves[1::2], strict=True):
    computed_s = dict(zip(line.x, line.seconds, strict=True))
    assert all(e > 0.95 * computed_s[size] for size, e in zip(markers.x, markers.seconds, strict=True))
overlapped_s = [both[0] for both in emulated_s]
assert min(overlapped_s) < 0.95 * min(overlapped_s[0], overlapped_s[-1])  # a valley in the emulation, too

# after buckets-why
small, middle, large = shown.values()
busy_s = sum(bucket.end_s - bucket.start_s for bucket in small.all_reduces)
latencies_s = len(small.buckets) * 2 * 2e-3  # a ring of 2 ranks takes 2 steps
assert (len(small.buckets), round(latencies_s, 3), round(busy_s, 3)) == (24, 0.096, 0.196)
assert busy_s > 0.12 and large.all_reduces[0].start_s == large.compute_s
assert middle.seconds < min(small.seconds, large.seconds)

# after no-sync-run
assert quiet.trace.total_bytes * 3 == loud.trace.total_bytes
assert all(torch.allclose(r.results[0], gradient_of(order[:48]), atol=1e-6) for r in (quiet, loud))

# after tokens
by_means, by_ranks, by_tokens = rows.values()
assert by_means > 1 > by_ranks > 0.1 and by_tokens < 1e-5

# after bn-scatter
for size, (seen_ratio, _, error) in rows.items():
    assert abs(seen_ratio / experiments.expected_scatter(activations, size).variance_ratio - 1) < 0.02
    assert (error > 1) == (size == 2)
assert 0.2 < rows[32][2] < 0.3

# after bn-micro
assert torch.allclose(inside + between, batch_values.double().var(0, correction=0))  # nothing else is in it
assert share < 0.6 and rows[24][-1] > 0.9

# after bn-equal
assert [*rows.values()] == [1, 1, 1]
assert torch.allclose(one.results[0], four.results[0], atol=1e-5)

# after bn-weigh
assert wrong_by["gradient"] > 0.03 and wrong_by["loss"] < 1e-5


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
assert len({*again}) == 1 < len({*losses["own", 2]}) and again[0] > min(losses["own", 2]) - 0.05
assert losses["own, estimated again", 8][0] < losses["synchronized", 8][0] < min(losses["own", 8])

# after dropout-cell
assert all((rows[0] == rows[1]) == same_seed for same_seed, rows in drawn.items())
assert all(simulate(masks, 2, args=(same_seed,)).results == rows for same_seed, rows in drawn.items())

# after augment
(first, second), (own, others) = turned.values()
assert first == second and own != others
assert first[0] != first[1]  # epochs differ by themselves
assert first[0][0] != first[0][1]  # the two workers

# after rnn-time
alone, waits, cut, piped = rows.values()
assert [waits[0], cut[0], piped[0]] == [alone[0], alone[0] / 4, alone[0] * (8 + 4 - 1) / (8 * 4)]
assert max(waits[1], piped[1]) < 1e-5 and cut[1] > 0.05
reports = [simulate(dp.train_on_streams, n, (model, streams), {"window": 16, "steps": 6}) for n in (1, 4)]
(losses, one), (_, four) = (report.results[0] for report in reports)
assert losses[-1] < losses[0] and distance(one, four) < 1e-5

# after noise
assert all(50 < size * relative < 130 for size, relative in noise.items())

# after noise-training
growth = sorted(training[-1].noise.scale / training[0].noise.scale for training in trainings)
assert growth[1] > 1 and growth[2] > 2
assert all(0.7 < training[2].noise.scale / training[0].noise.scale < 1.1 for training in trainings)
assert min(median for _, _, median, _ in rows.values()) > 60

# after golden-mean
assert goals[0].updates > 5 * goals[-1].updates and goals[-1].examples > 5 * goals[0].examples
of_32, of_256 = goals[2], goals[-1]
assert of_256.updates > 0.5 * of_32.updates and of_256.examples > 4 * of_32.examples

# after devices-run
assert rows[16][-1] < rows[1][-1] - 0.2

# after devices-rates
best_32, best_512 = (max(column) for column in zip(*found.values(), strict=True))
assert found[0.2][1] + 0.2 < best_512 < best_32 - 0.1 and found[0.4][0] > best_32 - 0.03
assert max(found[rates[-1]]) < 0.2  # sixteen times the rate that suits the small batch

# after knee
assert curve[4].error < curve[1].error + 0.01 < curve[64].error
assert curve[16].error < curve[32].error < curve[64].error

# after recipes
assert worse["√k"] > 2 and worse["unscaled"] > 4
assert recipes["unscaled"].error > recipes["√k"].error > best.error
assert experiments.margin(recipes["√k"], recipes["unscaled"]) > 4

# after balance-cell
first_s = 3 * 12 * (0.03 - 0.01)  # three ranks wait for the slow one
assert 0.8 < first_s / sum(reports[True, "simulated"].trace.waiting_s) <= 1

# after balance-cell clock
waiting_s = {adapt: sum(reports[adapt, "emulated"].trace.waiting_s) for adapt in (False, True)}
assert waiting_s[True] < 0.6 * waiting_s[False]

# after balance-table
for computed_s, virtual_s, _ in seconds.values():
    assert computed_s < virtual_s < computed_s + 0.01  # the messages

# after balance-table clock
for adapt, (*_, real_s) in zip((False, True), seconds.values(), strict=True):
    assert real_s > dp.slowest_rank_s(reports[adapt, "emulated"].results[0][0][-1].lengths, speeds) / 100
assert seconds["equal"][-1] > 1.5 * seconds["by speed"][-1]

# after balance-weights
*weighted, skewed_by = rows.values()
assert max(weighted) < 1e-6 and skewed_by > 1e-3

# after local
assert trained[16, False][1] < trained[1, False][1] + 0.1 and trained[16, True][1] > trained[1, True][1] + 0.3
assert trained[96, False][1] < trained["never", False][1] and trained["never", True][1] > 2 * trained[96, True][1]

# after gossip
assert torch.allclose(seen.sum(0), torch.tensor(8.0), atol=1e-4)  # the sum stays

# after gossip-factor
assert all(abs(ratio - dp.gossip_factor(8)) < 0.01 for ratio in shrink)
assert all(3.8 < dp.rounds_to_agree(2 * n) / dp.rounds_to_agree(n) < 4.3 for n in (8, 16, 32, 64))

# after gossip-train
exact, near = trained["all-reduce", False], trained["gossip", False]
assert near[0] < exact[0] / 4 and near[1] < exact[1] + 0.1
assert trained["gossip", True][1] > trained["all-reduce", True][1] + 0.2

# after async-gossip
gossip, together, alone = (loss for _, loss in rows.values())
assert results[1].steps > 3 * results[0].steps and gossip < together - 0.8
assert alone < gossip + 0.2

# after redundancy-cell
assert torch.equal(weights[1], weights[2]) and torch.equal(weights[1], weights[4])  # whoever was first
assert 1.5 < step_s[1] / step_s[4] < 4

# after zero-memory
published = {0: 120.0, 1: 31.4, 2: 16.6, 3: 1.88}  # GB, Rajbhandari et al. 2019, table 1
for stage, gigabytes in published.items():
    assert abs(zero.zero_bytes(7.5e9, 64, stage) / 1e9 / gigabytes - 1) < 0.005

# after zero-table
assert max(wrong_by) < 1e-3  # of a step of 0.01: Adam enlarges what rounding leaves of a gradient near 0
assert [row[-1] for row in rows.values()] == ["1.50 Ψ", "1.50 Ψ", "2.25 Ψ"]
layer, shard = max(layer_lengths), held.gradients
assert peaks[0] == held.parameters + layer and abs(peaks[1] - (shard - layer / 4 + 2 * layer)) < 2

# after zero-accumulate
assert all(abs(rows[stage][1] - psi) < 0.01 for stage, psi in {1: 1.5, 2: 3.75, 3: 9}.items())
for k in (2, 3, 8):
    sent = [zero.zero_elements_sent(layer_lengths, 4, stage, k)[0] / parameters / 0.75 for stage in (1, 2, 3)]
    assert all(abs(psi - law) < 0.01 * law for psi, law in zip(sent, (2, k + 1, 3 * k), strict=True))

# after explore-answers-print
assert cuts[0] > 1 == cuts[1]

# after ddp-run
assert all(ours < 1e-5 for ours, _ in rows.values())
assert rows["equal"][1] < 1e-5 and (rows["uneven"][1] < 1e-5) == (world_size == 1)


def cured(comm):
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(digits_model(seed + comm.rank))
    part = dp.split_batch(batches[0], comm.world_size, shares=cases["uneven"])[comm.rank]
    (loss_of(model, part) * len(part) / len(batches[0]) * comm.world_size).backward()
    gradient = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    return gradient, dp.state_hash(model.module), model.bucket_bytes_cap


for gradient, start, cap in run(cured, world_size).results:
    assert torch.allclose(gradient, gradient_of(batches[0]), atol=1e-6)
    assert (start, cap) == (dp.state_hash(digits_model(seed)), 25 * 2**20)
assert torch.distributed._DEFAULT_FIRST_BUCKET_BYTES == 2**20

# after spare-run
assert rows["DDP"].startswith("Expected to have finished reduction in the prior iteration")
assert max(float(rows[name]) for name in ("ours", "DDP, option")) < 1e-5

# after fsdp-run
assert max(held for held, _ in rows.values()) < 1.2 * parameters / world_size
assert apart < 1e-4
assert [whole for _, whole in rows.values()] == [max(layer_lengths), max(layer_lengths), parameters]
