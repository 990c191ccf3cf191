"""What the second page of chapter 05 says, as asserts: each block runs behind the cell that its head names."""

# after packed-rows
assert [each.tolist() for each in halves] == [[0, 1, 2, 3], [4, 5, 6, 7]]

# after grouped
assert rows["of two ranks, summed"][1] < 1e-12 and rows["of one rank"][0] < 0.97

# after weak-table
assert [round(100 * row[2]) for row in rows.values()] == [100, 96, 91, 85] and rows[8][3] == 0.77
assert round(100 * rows[8][1]) == 87 and [row[4] for row in rows.values()] == [0.96, 0.83, 0.79, 0.74]
assert [row[-1] for row in rows.values()] == [6144, 3840, 2304, 1536]
left_over = [row[3] / row[2] for row in rows.values()]
assert left_over[2] < left_over[3] < 0.92 and [round(row[-1] / 2304, 2) for row in rows.values()][2:] == [1, 0.67]
assert max(round(100 * row[2]) - round(100 * row[3]) for row in rows.values()) == 9
published = {1536: 1.2, 1920: 2.5, 2304: 4.2, 3072: 8.3}
for m in ours.MEGATRON_WEAK_SCALING:
    assert round(ours.gpt_parameters(m.layers, m.hidden) / 1e9, 1) == published[m.hidden]
work = [ours.step_flops(m) / m.gpus for m in ours.MEGATRON_WEAK_SCALING]
assert max(work) < 1.25 * min(work)

# after overlap-times
message_s = links.latency_s + 1536 / links.bytes_per_s
for product_s, (after, beside, _) in rows.items():
    law_s = ours.overlapped_seconds(links, world_size=4, part_bytes=1536, product_s=product_s)
    assert abs(beside - law_s) < 1e-9 and abs(after - 3 * message_s - product_s) < 1e-9
assert rows[0.32][1] - 0.32 < 1e-9 < rows[0.02][1] - 3 * message_s  # messages hidden, or the product
assert round(1e3 * message_s) == 20 and round(1e3 * rows[0.08][1]) == 81

# after overlap-times clock
assert all(0.99 * beside < emulated < 1.5 * beside for _, beside, emulated in rows.values())

# after overlap-table
assert [round(row[4], 2) for row in rows.values()] == [1.21, 1.22]
assert [row[1] for row in rows.values()] == ["0.7", "0.9"] and round(rows["8B"][6], 2) == 1.10
assert all(0.4 < (row[6] - 1) / (row[4] - 1) < 0.55 for row in rows.values())

# after online-hand
assert torch.allclose(seen.result, scores.softmax(1) @ values) and round(seen.result.item(), 3) == 3.151
assert scores.double().exp().isinf().all() and round(2 * 2**20 * 4096 * 2 / 1e9) == 17

# after ring-run
assert max(errors) < 1e-12
for p in (2, 3, 5):
    places = ours.places_in_zigzag(24, p)
    ys = simulate(ring, p).results
    assert all(torch.allclose(y[0], expected[0][:, :, places[rank]]) for rank, y in enumerate(ys))

# after zigzag-table
assert all(len(set(row[2:6])) == 1 for row in rows if row[0] == "zigzag")
assert sum(row[2] > 0 for row in rows if row[0] == "in order") == 1
for p in (1, 2, 3, 5, 8):
    assert all(len(set(step)) == 1 for step in ours.pairs_per_step(ours.places_in_zigzag(6 * p, p)))

# after zigzag-won
assert all(abs(each / (2 - 1 / p) - 1) < 0.02 for each, p in zip(won, sizes, strict=True))

# after ring-bytes
whole_bytes = 48 * 32 * 4 * 4
for p, gather_bytes, ring_bytes, exchange_bytes in zip((2, 4, 8), *rows.values(), strict=False):
    assert gather_bytes == 4 * (p - 1) / p * whole_bytes and ring_bytes == (6 - 4 / p) * whole_bytes
    assert exchange_bytes == 8 * (p - 1) / p**2 * whole_bytes
assert all(rows[way][3] == rows[way][2] / 4 for way in ("gather", "ring"))  # queries do not travel
assert rows["Ulysses"][2] < rows["gather"][2] < rows["ring"][2] and rows["Ulysses"][0] == rows["gather"][0]
for group, p in ((2, 2), (2, 4), (4, 2), (4, 8), (8, 4)):  # heads that share a head of keys, ranks
    traces = [simulate(attend_all, p, args=(way, 32 // group)).trace for way in (gather, ours.exchanged_attention)]
    assert (max(traces[0].bytes_sent) < max(traces[1].bytes_sent)) == (p <= group)

# after dtensor-run
assert max(row[1] for row in rows.values()) < 1e-10
assert ranks == 1 or [row[0] for row in rows.values()] == ["4 all_reduce", "4 all_gather, 4 reduce_scatter"]

# after data-run
assert hashes[0] == hashes[2] and hashes[1] == hashes[3] and hashes[0] != hashes[1]
assert abs(mean - expected) < 0.02

# after contrast-run
assert rows["gathered with gradients"][2] < 1e-12
assert abs(rows["gathered as numbers"][0] - 1 / ranks) < 1e-12 and abs(rows["gathered as numbers"][1] - 1) < 1e-12
assert ranks == 1 or rows["own examples only"][1] < 0.99

# after capacity
assert rows[1.25][1] < rows[1.25][2] and rows[1.0][1] > 0 and rows[2.0][1] == 0
for draw in range(5):
    drawn = torch.randn(64, 4, generator=torch.Generator().manual_seed(draw))
    by_chance, liked = (ours.route(each, 16).dropped for each in (drawn, drawn + torch.tensor([1.0, 0, 0, 0])))
    assert 0 < by_chance < liked

# after experts-run
assert error < 1e-12
[router_grad] = torch.autograd.grad(torch.cat(loop).square().sum(), [router.weight])
assert torch.allclose(sum(router_grads), router_grad, rtol=0, atol=1e-12)
assert ranks == 1 or not torch.allclose(router_grads[0], router_grad, rtol=0, atol=1e-2)

# after experts-bytes
for p, tokens, _, factor, sent, in_tensors in rows:
    assert sent == 4 * (p - 1) / p * factor * tokens * 16 * 4 and in_tensors == 4 * (p - 1) * tokens * 16 * 4
assert [round(row[4] / rows[0][4], 2) for row in rows] == [1, 2, 1, 2, 1.17]
