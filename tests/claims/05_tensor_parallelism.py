"""What the page '05 · Tensor parallelism' says, asserted: a block behind each cell that shows it."""

# after stakes
assert round(layer_bytes / 1e9, 1) == 1.8 and -(-model_bytes // 32e9) == 5

# after eight
assert as_it_is == [(16, 3), (16, 5)] and with_f == [(16, 8), (16, 8)]

# after orders-run
assert torch.allclose(right, one_process, atol=1e-6)
assert ranks == 1 or (wrong - one_process).abs().max() > 0.01

# after heads-by-hand
assert by_heads[0] == [0, 1, 4, 5, 8, 9]
assert torch.arange(8).chunk(2)[0].tolist() == [0, 1, 2, 3]  # gate 0-3, up 4-7: half of them is all gate
queries, *keys_values = (torch.randn(1, heads, 6, 4, dtype=torch.float64) for heads in (8, 4, 4))


def grouped(comm):  # 8 ranks, 4 heads of keys: rank r needs head r // 2
    own = [queries[:, [comm.rank]], *(each[:, [comm.rank // 2]] for each in keys_values)]
    leaves = [each.clone().requires_grad_() for each in own]
    return torch.autograd.grad(nn.functional.scaled_dot_product_attention(*leaves).square().sum(), leaves[1])[0]


whole_keys = keys_values[0].clone().requires_grad_()
y = nn.functional.scaled_dot_product_attention(queries, whole_keys, keys_values[1], enable_gqa=True)
summed = torch.cat(simulate(grouped, 8).results, 1).unflatten(1, (4, 2)).sum(2)
assert torch.allclose(torch.autograd.grad(y.square().sum(), whole_keys)[0], summed)

# after attention-run
assert error < 1e-12

# after logits
assert gathered // crossing > 8000
assert vocabulary > 4 * h  # the next largest are the MLP's: h by 4 h

# after loss-run
assert error < 1e-12
assert abs(report.results[0][0] - next_token_loss(logits, targets).item()) < 1e-12
by_hand = (logits.softmax(2) - nn.functional.one_hot(targets, 24)) / targets.numel()
own = torch.stack([part.logsumexp(2) for part in logits.chunk(ranks, 2)])  # two numbers would do
assert torch.allclose(by_hand, known.grad) and torch.allclose(own.logsumexp(0), logits.logsumexp(2))
for p in (2, 3, 4):  # with its backward pass: three all-reduces, and no more
    assert len(simulate(loss_in_parts, p).trace.messages) == 3 * 2 * (p - 1) * p

# after block-count
assert rows == {"forward": (2, 2 * 48 * 48, 1), "forward and backward": (4, 2 * 48 * 48, 1)}

# after gpt-run
assert error < 1e-12

# after wrong-g
assert abs(rows["blocks.1.mlp.0.weight"][0] / ranks - 1) < 1e-6  # nothing but one g behind it
assert ranks == 1 or rows["position.weight"][0] > 1.2 * ranks
assert ranks == 1 or rows["embedding.weight"][1] < 0.9
d = config.width
for p in (1, 2, 4, 12):
    held = simulate(lambda comm: sum(map(torch.numel, ours.ParallelBlock(comm, whole.blocks[0]).parameters())), p)
    assert held.results == [(12 * d**2 + 7 * d) // p + 6 * d] * p
assert 12 * 3072**2 == 6144 * (6 * 3072)
last = {name for name in wrong if name.startswith("blocks.1.mlp") and name != "blocks.1.mlp.2.bias"}
times = {name for name in wrong if (wrong[name] - ranks * right[name]).norm() < 1e-9 * right[name].norm()}
assert ranks == 1 or times == last

# after train-run
assert all(each == losses[0] for each in losses) and losses[0][-1] < 0.85 * losses[0][0]
assert max(abs(a - b) for a, b in zip(losses[0], expected_losses, strict=True)) < 0.01

# after activations
assert round(100 * 10 / (10 + 24 / t)) == 77
assert round(100 * 10 * s * b * h / tensor) == 51 and round(tensor / sequence, 1) == 1.8

# after sequence-bytes
assert sent[False] == sent[True]
assert [round(held / 1e9, 1) for held, _ in rows.values()] == [35.6, 26.1, 19.8]
for p in (2, 3, 6, 12):
    both = [simulate(sequence_block, p, args=(each,)).trace.bytes_sent for each in (False, True)]
    assert both[0] == both[1]

# after sequence-run
assert error < 1e-12


def without_the_sum(comm):
    model = ours.ParallelGPT(comm, GPT(config, seed), sequence_parallel=True)
    shared = [parameter for name, parameter in model.named_parameters() if ours.is_shared(name)]
    return train(model, model.loss), torch.cat([each.detach().flatten() for each in shared])


forgotten = run(without_the_sum, ranks).results
assert abs(forgotten[0][0][-1] - losses[0][-1]) < 0.03
assert ranks == 1 or not torch.equal(forgotten[0][1], forgotten[-1][1])

# after dropout-run
assert len(set(same)) == 1 and len(set(own)) == 4

# after overlap-run
assert error < 1e-12

# after overlap-times
message_s = links.latency_s + 1536 / links.bytes_per_s
for product_s, (after, beside, _) in rows.items():
    law_s = ours.overlapped_seconds(links, world_size=4, part_bytes=1536, product_s=product_s)
    assert abs(beside - law_s) < 1e-9 and abs(after - 3 * message_s - product_s) < 1e-9
assert rows[0.32][1] - 0.32 < 1e-9 < rows[0.02][1] - 3 * message_s  # messages hidden, or the product

# after overlap-times clock
assert all(0.99 * beside < emulated < 1.5 * beside for _, beside, emulated in rows.values())

# after overlap-table
assert [round(row[1], 2) for row in rows.values()] == [1.21, 1.22]
assert [row[0][5:8] for row in rows.values()] == ["0.7", "0.9"]
assert all(0.4 < (published - 1) / (in_parts - 1) < 0.55 for *_, in_parts, published in rows.values())

# after data-run
assert hashes[0] == hashes[2] and hashes[1] == hashes[3] and hashes[0] != hashes[1]
assert max(abs(a - b) for a, b in zip(means, expected_losses, strict=True)) < 0.02

# after contrast-run
assert off["gathered with gradients"] < 1e-12
assert abs(off["gathered as numbers"] - (1 - 1 / ranks)) < 1e-12  # 1 / ranks of what it should be
assert ranks == 1 or off["own examples only"] > 0.05

# after parameters-published
assert all(computed == theirs for _, computed, theirs in rows.values())
small = ours.gpt_parameters(config.layers, config.width, config.vocabulary, config.context)
assert round(small) + 2 * config.width == config.parameters  # ours has a last norm

# after weak-table
twice = 1 / (1 + (1 / rows[8][1] - 1) * (6 / 4) / (4 / 3))  # one more forward pass: its all-reduces, its operations
assert round(100 * twice) == 85 and 0.86 < rows[8][1] < 0.88 and all(row[1] >= row[2] for row in rows.values())
work = [ours.step_flops(m) / m.gpus for m in ours.MEGATRON_WEAK_SCALING]
assert max(work) < 1.25 * min(work) and abs(rows[8][3] - rows[4][3]) < 0.01

# after weak-figure
assert [m.with_data for m in ours.MEGATRON_WEAK_SCALING] == [0.96, 0.83, 0.79, 0.74]
assert round(512 * 50.4 / (64 * 20.6), 1) == 19.6 and round(8.3e9 / 355e6) == 23

# after online-hand
assert torch.allclose(seen.result, scores.softmax(1) @ values)
assert scores.double().exp().isinf().all()

# after ring-compare
assert max(errors) < 1e-12

# after ring-bytes
whole_bytes = 48 * 32 * 4 * 4
for p, gather_bytes, ring_bytes, exchange_bytes in zip((2, 4, 8), *rows.values(), strict=False):
    assert gather_bytes == 4 * (p - 1) / p * whole_bytes and ring_bytes == (6 - 4 / p) * whole_bytes
    assert exchange_bytes == 8 * (p - 1) / p**2 * whole_bytes
assert all(rows[way][3] == rows[way][2] / 4 for way in ("gather", "ring"))  # queries do not travel
assert rows["Ulysses"][3] == rows["Ulysses"][2] * 5 / 8
quarter = {way: max(simulate(attend_all, 4, args=(way, 8)).trace.bytes_sent) for way in ways}
assert quarter["gather"] < quarter["Ulysses"] < quarter["ring"] and rows["gather"][0] == rows["Ulysses"][0]
for group, p in ((2, 2), (2, 4), (4, 2), (4, 8), (8, 4)):  # heads that share a key head, ranks
    traces = [simulate(attend_all, p, args=(way, 32 // group)).trace for way in ("gather", "Ulysses")]
    assert (max(traces[0].bytes_sent) < max(traces[1].bytes_sent)) == (p <= group)

# after zigzag-table
assert all(len(set(row[2:6])) == 1 for row in rows if row[0] == "zig-zag")
for p in (1, 2, 3, 5, 8):
    assert all(len(set(step)) == 1 for step in ours.pairs_per_step(ours.places_in_zigzag(6 * p, p)))

# after zigzag-won
assert all(abs(each / (2 - 1 / p) - 1) < 0.02 for each, p in zip(won, sizes, strict=True))

# after capacity
assert rows[1.25][1] < rows[1.25][2] and rows[1.0][1] > 0
for draw in range(5):
    drawn = torch.randn(64, 4, generator=torch.Generator().manual_seed(draw))
    by_chance, liked = (ours.route(scores, 16).dropped for scores in (drawn, drawn + torch.tensor([1.0, 0, 0, 0])))
    assert 0 < by_chance < liked

# after experts-run
assert error < 1e-12
[router_grad] = torch.autograd.grad(torch.cat(loop).square().sum(), [router.weight])
assert torch.allclose(sum(router_grads), router_grad, rtol=0, atol=1e-12)
assert ranks == 1 or not torch.allclose(router_grads[0], router_grad, rtol=0, atol=1e-2)

# after experts-bytes
for (p, tokens, _, factor), (_, sent, in_tensors) in rows.items():
    assert sent == 4 * (p - 1) / p * factor * tokens * 16 * 4 and in_tensors == 4 * (p - 1) * tokens * 16 * 4
most = max(simulate(one_mixture, 4, args=(64, 128, 1.0)).trace.bytes_sent)  # room for 1 token each: 128 of 64
assert most == 2 * rows[4, 64, 8, 1.0][1]

# after dtensor-compare
assert error < 1e-10 and (results[0][-1] == {"all_reduce": 4} or ranks == 1)

# after dtensor-sequence-run
assert error < 1e-10
assert counts[0] == {"all_gather_into_tensor": 4, "reduce_scatter_tensor": 4} or ranks == 1

# after explore-answers
message_bytes = 8 * 1024 * largest.hidden * 2  # two nodes of 8: an eighth of it crosses between them
levels_s = 4 * largest.layers * message_bytes * (2 * 7 / 8 / 120e9 + 1 / 8 / 12.5e9)
computing_s = ours.step_flops(largest) / 16 / 39e12
assert round(100 * computing_s / (computing_s + levels_s)) == 66 and "here: 72%" in seen(data=64)
